import { z } from 'zod'
import { createBackup } from '../backup/create-backup.ts'
import { CommandFailed, defineCommand, exitCodes, flag, jsonFlag, option } from '../command.ts'
import { formatAge, formatBytes } from '../terminal.ts'

const days = 'must be a whole number of days, at least 1'

export const backup = defineCommand({
  options: z.strictObject({
    directory: z
      .string()
      .min(1, 'must be a folder')
      .optional()
      .meta(option('<folder>', 'Folder of the backups (default: BACKUP_DIRECTORY)')),
    'keep-days': z.coerce
      .number(days)
      .int(days)
      .min(1, days)
      .optional()
      .meta(option('<days>', 'Afterwards removes the backups that are older (default: keeps all)')),
    verify: z
      .boolean()
      .default(false)
      .meta(flag('Restores the backup into a temporary database and compares the rows')),
    json: jsonFlag('Prints the backup as JSON'),
  }),
  notes: [
    'Backs up while everything runs. Prints the path of the new file, which only the current user can read. Needs',
    'pg_dump of at least the version of the server: on the PATH, or named by PG_DUMP. With BACKUP_KEY',
    '(openssl rand -base64 32), the file is encrypted, and nothing can be restored without this key: store it apart from',
    'the backups.',
    '',
    '--verify needs a role that may create databases. BACKUP_VERIFY_URL names another server for it.',
    'See docs/backup.md.',
  ].join('\n'),
  async run(cli, { directory, 'keep-days': keepDays, verify, json }) {
    const created = await createBackup(cli, { directory, keepDays, verify }).catch((error: unknown) => {
      if (!cli.stopping.aborted) throw error
      throw new CommandFailed('Stopped. There is no new backup.', exitCodes.interrupted)
    })
    const { file, bytes, durationMs, isEncrypted, isVerified, removed } = created
    cli.terminal.print(json ? JSON.stringify(created) : file)
    const properties = [isEncrypted ? 'encrypted' : 'not encrypted', isVerified ? 'verified' : 'not verified'].join(
      ', ',
    )
    cli.terminal.log(`${formatBytes(bytes)} in ${formatAge(durationMs / 1_000)}, ${properties}`)
    for (const name of removed) cli.terminal.log(`removed ${name}`)
    return exitCodes.success
  },
})
