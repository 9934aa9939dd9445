import { interruptRestoredWork, type InterruptedWorkCounts } from '@rapport/core/operations/recovery/restored-backup.ts'
import { z } from 'zod'
import { defineCommand, exitCodes, jsonFlag, option } from '../command.ts'
import { withDatabase } from '../database.ts'
import { formatCount } from '../terminal.ts'
import { timestampAt } from '@rapport/core/kernel/values/timestamps.ts'

export const restored = defineCommand({
  options: z.strictObject({
    before: z.iso
      .datetime({ offset: true, error: 'must be a timestamp such as 2027-01-31T04:00:00Z' })
      .optional()
      .meta(option('<time>', 'Only work from before this time: 2027-01-31T04:00:00Z (default: now)')),
    json: jsonFlag('Prints the counts as JSON'),
  }),
  notes: [
    'Run it after restoring a backup and before starting a worker; it fails while a worker is alive. Pending',
    'deliveries and emails become INTERRUPTED. Running campaigns become PAUSED and their pending recipients',
    'INTERRUPTED, as their emails may have been sent since the backup. Imports continue. The command can be run again.',
    'See docs/backup.md.',
  ].join('\n'),
  async run(cli, { before, json }) {
    const counts = await withDatabase(cli, ({ db }) =>
      interruptRestoredWork(db, before === undefined ? undefined : timestampAt(before)),
    )
    cli.terminal.print(json ? JSON.stringify(counts) : formatInterruptedWork(counts))
    return exitCodes.success
  },
})

export const formatInterruptedWork = (counts: InterruptedWorkCounts) => {
  const deliveries = formatCount(counts.deliveries, 'delivery', 'deliveries')
  const [mails, recipients] = [formatCount(counts.mails, 'email'), formatCount(counts.recipients, 'recipient')]
  return `INTERRUPTED: ${deliveries}, ${mails}, ${recipients}; PAUSED: ${formatCount(counts.campaigns, 'campaign')}`
}
