import type { Command } from './command.ts'
import { doctor } from './commands/doctor.ts'
import { importContacts } from './commands/import.ts'
import { keyCreate } from './commands/key/create.ts'
import { keyList } from './commands/key/list.ts'
import { listen } from './commands/listen.ts'
import { queue } from './commands/queue.ts'
import { restored } from './commands/restored.ts'
import { rotateKey } from './commands/rotate-key.ts'
import { workspaceCreate } from './commands/workspace/create.ts'
import { workspaceList } from './commands/workspace/list.ts'
import { workspaceResume } from './commands/workspace/resume.ts'
import { workspaceSetQuota } from './commands/workspace/set-quota.ts'
import { workspaceSetSenders } from './commands/workspace/set-senders.ts'
import { workspaceSuspend } from './commands/workspace/suspend.ts'
import { programs } from './programs.ts'

/** In the order of the help. */
export const commands: readonly Command[] = [
  ...programs,
  doctor,
  queue,
  restored,
  rotateKey,
  workspaceList,
  workspaceCreate,
  workspaceSetSenders,
  workspaceSetQuota,
  workspaceSuspend,
  workspaceResume,
  keyList,
  keyCreate,
  importContacts,
  listen,
]
