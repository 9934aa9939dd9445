import { z } from 'zod'
import { restoreBackup } from '../backup/restore-backup.ts'
import { CommandFailed, defineCommand, exitCodes, flag, jsonFlag, option } from '../command.ts'
import { formatInterruptedWork } from './restored.ts'

export const restore = defineCommand({
  positionals: ['file'],
  options: z.strictObject({
    file: z.string().meta(option('<file>', 'A file of "rapport backup" or "pg_dump --format=custom"')),
    into: z
      .string()
      .regex(/^[\w-]{1,63}$/, 'must be the name of a database: letters, digits, _ and -, up to 63')
      .optional()
      .meta(option('<name>', 'Database to create, on the server of DATABASE_URL (default: that of DATABASE_URL)')),
    replace: z
      .boolean()
      .default(false)
      .meta(flag('Renames a database that is not empty to <name>_replaced_<time>, and takes its place')),
    json: jsonFlag('Prints the counts as JSON'),
  }),
  notes: [
    'Stop all APIs and workers first. Creates the database, runs the migrations, and marks the pending work of the backup',
    'as interrupted, as "rapport restored" does. The database gets its name when all of this is done: if the restore',
    'fails, nothing has changed. Data is never overwritten. An encrypted file needs the BACKUP_KEY that it was made with.',
    'See docs/backup.md.',
  ].join('\n'),
  async run(cli, { file, into, replace, json }) {
    const restored = await restoreBackup(cli, { file, into, replace }).catch((error: unknown) => {
      if (!cli.stopping.aborted) throw error
      throw new CommandFailed('Stopped. Nothing was restored.', exitCodes.interrupted)
    })
    cli.terminal.print(json ? JSON.stringify(restored) : formatInterruptedWork(restored))
    for (const line of describeNextSteps(restored, into)) cli.terminal.log(line)
    return exitCodes.success
  },
})

const describeNextSteps = (
  { database, replaced }: { database: string; replaced: string | null },
  into: string | undefined,
) => [
  `The database "${database}" is restored.`,
  ...(replaced === null ? [] : [`The former database is now "${replaced}".`]),
  ...(into === undefined ? [] : [`Set the name in DATABASE_URL to "${database}".`]),
  'Next, before you start a worker: empty Redis, run "rapport doctor", start the APIs, and repeat the unsubscribe',
  'requests since the backup. docs/backup.md has the commands.',
]
