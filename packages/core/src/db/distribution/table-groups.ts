/** Where the rows of a table are in a distributed database. All other tables are distributed by `workspace_id`. */

/** Read with the rows of every workspace, and small: each server has a copy. */
export const referenceTables = [
  'workspaces',
  'users',
  'members',
  'sessions',
  'api_keys',
  'invites',
  'password_resets',
  'mail_hooks',
  'hosts',
]

/** They belong to the installation, not to a workspace: they stay on the coordinator. */
export const coordinatorTables = [
  'login_failures',
  'mail_rates',
  'workers',
  'backups',
  'installation',
  'mail_hook_tokens',
]
