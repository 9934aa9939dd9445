import type { Command } from './command.ts'
import { doctor } from './commands/doctor.ts'
import { importContacts } from './commands/import.ts'
import { keyCreate } from './commands/key-create.ts'
import { listen } from './commands/listen.ts'
import { queue } from './commands/queue.ts'
import { restored } from './commands/restored.ts'
import { rotateKey } from './commands/rotate-key.ts'
import { workspaceCreate } from './commands/workspace-create.ts'

/** In the order of the help. */
export const commands: readonly Command[] = [
  doctor,
  queue,
  restored,
  rotateKey,
  workspaceCreate,
  keyCreate,
  importContacts,
  listen,
]
