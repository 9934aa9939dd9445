import type { Command } from './command.ts'
import { backup } from './commands/backup.ts'
import { campaignStatus } from './commands/campaign-status.ts'
import { createCompletion } from './commands/completion.ts'
import { distribute } from './commands/distribute.ts'
import { doctor } from './commands/doctor.ts'
import { importContacts } from './commands/import.ts'
import { keyCreate } from './commands/key/create.ts'
import { keyList } from './commands/key/list.ts'
import { keyRevoke } from './commands/key/revoke.ts'
import { listen } from './commands/listen.ts'
import { queue } from './commands/queue.ts'
import { restore } from './commands/restore.ts'
import { restored } from './commands/restored.ts'
import { rotateKey } from './commands/rotate-key.ts'
import { userList } from './commands/user/list.ts'
import { userReset } from './commands/user/reset.ts'
import { webhookFailing } from './commands/webhook-failing.ts'
import { workspaceCreate } from './commands/workspace/create.ts'
import { workspaceDelete } from './commands/workspace/delete.ts'
import { workspaceInvite } from './commands/workspace/invite.ts'
import { workspaceList } from './commands/workspace/list.ts'
import { workspaceResume } from './commands/workspace/resume.ts'
import { workspaceSetQuota } from './commands/workspace/set-quota.ts'
import { workspaceSetSenders } from './commands/workspace/set-senders.ts'
import { workspaceShow } from './commands/workspace/show.ts'
import { workspaceSuspend } from './commands/workspace/suspend.ts'
import { programs } from './programs.ts'

/** In the order of the help. */
export const commands: readonly Command[] = [
  ...programs,
  doctor,
  queue,
  campaignStatus,
  webhookFailing,
  backup,
  restore,
  restored,
  rotateKey,
  distribute,
  workspaceList,
  workspaceShow,
  workspaceCreate,
  workspaceInvite,
  workspaceSetSenders,
  workspaceSetQuota,
  workspaceSuspend,
  workspaceResume,
  workspaceDelete,
  userList,
  userReset,
  keyList,
  keyCreate,
  keyRevoke,
  importContacts,
  listen,
  createCompletion(() => commands),
]
