/** The tables that are not distributed by workspace. All other tables are. */

/** Every server of a distributed database has a copy of these. */
export const referenceTables = ['workspaces', 'users', 'members', 'sessions', 'api_keys', 'invites', 'password_resets']

/** These stay on the coordinator of a distributed database. */
export const coordinatorTables = ['login_failures', 'mail_pace', 'workers', 'backups']
