import { interruptRestoredWork } from '@rapport/core/operations/restored-backup.ts'
import { z } from 'zod'
import { defineCommand, exitCodes, flag, option } from '../command.ts'
import { withDatabase } from '../database.ts'

export const restored = defineCommand({
  name: 'restored',
  summary: 'After a restore: keeps what was to go out from going out twice',
  options: z.strictObject({
    before: z.iso
      .datetime({ offset: true, error: 'must be a moment such as 2027-01-31T04:00:00Z' })
      .optional()
      .meta(option('<when>', 'What was to be done before: 2027-01-31T04:00:00Z (default: all of it, now)')),
    json: z.boolean().default(false).meta(flag('Prints the counts as JSON')),
  }),
  notes: [
    'To be run after a backup was restored, before a worker starts; it refuses while one is alive. Deliveries and mails',
    'that were to go out become INTERRUPTED, and campaigns under way PAUSED with all INTERRUPTED who were not mailed when',
    'the backup was made: they may have been since. Imports go on. It may be run again. See docs/backup.md.',
  ].join('\n'),
  async run(cli, { before, json }) {
    const counts = await withDatabase(cli, ({ db }) =>
      interruptRestoredWork(db, before === undefined ? undefined : new Date(before)),
    )
    const { deliveries, mails, campaigns, recipients } = counts
    cli.terminal.print(
      json
        ? JSON.stringify(counts)
        : `INTERRUPTED: ${deliveries} deliveries, ${mails} mails, ${recipients} recipients; PAUSED: ${campaigns} campaigns`,
    )
    return exitCodes.good
  },
})
