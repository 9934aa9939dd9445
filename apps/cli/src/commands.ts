/** All commands, in the order of the help. The module of a command is loaded when it is used: most take a second. */
import { type Command, type ListedCommand, loadCommand } from './command.ts'
import { programs } from './programs.ts'

export const commands: readonly ListedCommand[] = [
  ...programs,
  {
    name: 'doctor',
    group: 'Installation',
    summary: 'Checks the installation and advises how to fix problems',
    load: async () => (await import('./commands/doctor.ts')).doctor,
  },
  {
    name: 'queue',
    group: 'Installation',
    summary: 'Shows unfinished work and the workers',
    load: async () => (await import('./commands/queue.ts')).queue,
  },
  {
    name: 'campaign status',
    group: 'Installation',
    summary: 'Shows how far campaigns are, and when they will be done',
    load: async () => (await import('./commands/campaign-status.ts')).campaignStatus,
  },
  {
    name: 'webhook failing',
    group: 'Installation',
    summary: 'Lists the webhooks that have failed for an hour or longer',
    load: async () => (await import('./commands/webhook-failing.ts')).webhookFailing,
  },
  {
    name: 'mail-hook create',
    group: 'Installation',
    summary: 'Creates a URL for the bounces and complaints of a mail provider',
    load: async () => (await import('./commands/mail-hook/create.ts')).mailHookCreate,
  },
  {
    name: 'mail-hook list',
    group: 'Installation',
    summary: 'Lists the mail hooks of the installation',
    load: async () => (await import('./commands/mail-hook/list.ts')).mailHookList,
  },
  {
    name: 'mail-hook delete',
    group: 'Installation',
    summary: 'Deletes a mail hook of the installation',
    load: async () => (await import('./commands/mail-hook/delete.ts')).mailHookDelete,
  },
  {
    name: 'backup',
    group: 'Installation',
    summary: 'Backs up the database into a file',
    load: async () => (await import('./commands/backup.ts')).backup,
  },
  {
    name: 'restore',
    group: 'Installation',
    summary: 'Restores the database from a backup, without repeating its pending work',
    load: async () => (await import('./commands/restore.ts')).restore,
  },
  {
    name: 'restored',
    group: 'Installation',
    summary: 'After a restore by other means: prevents emails and webhooks from being sent twice',
    load: async () => (await import('./commands/restored.ts')).restored,
  },
  {
    name: 'rotate-key',
    group: 'Installation',
    summary: 'Re-encrypts stored secrets with the current SECRET_KEY',
    load: async () => (await import('./commands/rotate-key.ts')).rotateKey,
  },
  {
    name: 'erasure verify',
    group: 'Installation',
    summary: 'Searches the database and Redis for what is left of a person',
    load: async () => (await import('./commands/erasure/verify.ts')).erasureVerify,
  },
  {
    name: 'distribute',
    group: 'Installation',
    summary: 'Spreads the workspaces over the servers of a Citus cluster',
    load: async () => (await import('./commands/distribute.ts')).distribute,
  },
  {
    name: 'workspace list',
    group: 'Workspaces',
    summary: 'Lists the workspaces',
    load: async () => (await import('./commands/workspace/list.ts')).workspaceList,
  },
  {
    name: 'workspace show',
    group: 'Workspaces',
    summary: 'Shows the members, quotas, senders and problems of a workspace',
    load: async () => (await import('./commands/workspace/show.ts')).workspaceShow,
  },
  {
    name: 'workspace create',
    group: 'Workspaces',
    summary: 'Creates a workspace and invites its owner',
    load: async () => (await import('./commands/workspace/create.ts')).workspaceCreate,
  },
  {
    name: 'workspace invite',
    group: 'Workspaces',
    summary: 'Invites a member, such as a new owner',
    load: async () => (await import('./commands/workspace/invite.ts')).workspaceInvite,
  },
  {
    name: 'workspace set-senders',
    group: 'Workspaces',
    summary: 'Sets the domains that a workspace sends from',
    load: async () => (await import('./commands/workspace/set-senders.ts')).workspaceSetSenders,
  },
  {
    name: 'workspace set-quota',
    group: 'Workspaces',
    summary: 'Sets quotas of a workspace',
    load: async () => (await import('./commands/workspace/set-quota.ts')).workspaceSetQuota,
  },
  {
    name: 'workspace suspend',
    group: 'Workspaces',
    summary: 'Suspends a workspace: it can be read only',
    load: async () => (await import('./commands/workspace/suspend.ts')).workspaceSuspend,
  },
  {
    name: 'workspace resume',
    group: 'Workspaces',
    summary: 'Ends the suspension of a workspace',
    load: async () => (await import('./commands/workspace/resume.ts')).workspaceResume,
  },
  {
    name: 'workspace delete',
    group: 'Workspaces',
    summary: 'Deletes a workspace with all of its records',
    load: async () => (await import('./commands/workspace/delete.ts')).workspaceDelete,
  },
  {
    name: 'user list',
    group: 'Users and keys',
    summary: 'Lists the accounts and their workspaces',
    load: async () => (await import('./commands/user/list.ts')).userList,
  },
  {
    name: 'user reset',
    group: 'Users and keys',
    summary: 'Emails a link to reset the password of an account',
    load: async () => (await import('./commands/user/reset.ts')).userReset,
  },
  {
    name: 'key list',
    group: 'Users and keys',
    summary: 'Lists the API keys of a workspace',
    load: async () => (await import('./commands/key/list.ts')).keyList,
  },
  {
    name: 'key create',
    group: 'Users and keys',
    summary: 'Creates an API key',
    load: async () => (await import('./commands/key/create.ts')).keyCreate,
  },
  {
    name: 'key revoke',
    group: 'Users and keys',
    summary: 'Revokes an API key',
    load: async () => (await import('./commands/key/revoke.ts')).keyRevoke,
  },
  {
    name: 'import',
    group: 'Contacts',
    summary: 'Imports contacts from a file and shows the progress',
    load: async () => (await import('./commands/import.ts')).importContacts,
  },
  {
    name: 'contact opt-out',
    group: 'Contacts',
    summary: 'Records that a person wants no email from a list, or from any',
    load: async () => (await import('./commands/contact/opt-out.ts')).contactOptOut,
  },
  {
    name: 'contact undo-opt-out',
    group: 'Contacts',
    summary: 'Undoes an opt-out that was recorded by mistake, for ten minutes',
    load: async () => (await import('./commands/contact/undo-opt-out.ts')).contactUndoOptOut,
  },
  {
    name: 'suppression list',
    group: 'Contacts',
    summary: 'Lists the addresses to which the workspace sends nothing',
    load: async () => (await import('./commands/suppression/list.ts')).suppressionList,
  },
  {
    name: 'suppression add',
    group: 'Contacts',
    summary: 'Suppresses an address',
    load: async () => (await import('./commands/suppression/add.ts')).suppressionAdd,
  },
  {
    name: 'suppression lift',
    group: 'Contacts',
    summary: 'Lifts a bounce or a block',
    load: async () => (await import('./commands/suppression/lift.ts')).suppressionLift,
  },
  {
    name: 'listen',
    group: 'Development',
    summary: 'Forwards events to a local program, signed like webhooks',
    load: async () => (await import('./commands/listen.ts')).listen,
  },
  {
    name: 'completion',
    group: 'Shell',
    summary: 'Prints a script that completes commands and options in a shell',
    load: async () => (await import('./commands/completion.ts')).createCompletion(loadCommands),
  },
]

export const loadCommands = (): Promise<Command[]> => Promise.all(commands.map(loadCommand))
