import {
  listWorkspaceFigures,
  sortFields,
  sortFigures,
  type WorkspaceFigures,
} from '@rapport/core/operations/overviews/workspace-figures.ts'
import { z } from 'zod'
import { defineCommand, exitCodes, jsonFlag, option } from '../../command.ts'
import { withDatabase } from '../../database.ts'
import { formatCount, formatTable } from '../../terminal.ts'

export const workspaceList = defineCommand({
  options: z.strictObject({
    sort: z
      .enum(sortFields)
      .default('createdAt')
      .meta(option('<field>', 'Sorts by a figure of the JSON, highest first (default: createdAt, oldest first)')),
    json: jsonFlag('Prints the workspaces with all figures as JSON'),
  }),
  notes: [
    `Fields: ${sortFields.slice(0, 6).join(', ')},`,
    `${sortFields.slice(6).join(', ')}.`,
    'Lists all workspaces of the installation. Emails and rates are those of the last 30 days, "worst" of one campaign with',
    '500 emails or more, and of complaints with ten or more. "rapport workspace suspend" stops one. The command connects to',
    'the database directly.',
  ].join('\n'),
  async run(cli, { sort, json }) {
    const figures = sortFigures(await withDatabase(cli, ({ db }) => listWorkspaceFigures(db)), sort)
    cli.terminal.print(json ? JSON.stringify({ data: figures }) : formatTable([head, ...figures.map(toRow)]))
    return exitCodes.success
  },
})

const head = [
  'id',
  'created',
  'suspended',
  'contacts',
  'emails',
  'bounced',
  'worst',
  'spam',
  'worst',
  'failing webhooks',
  'work',
  'last sent',
  'name',
]

const toRow = (one: WorkspaceFigures) => [
  one.id,
  one.createdAt,
  one.suspendedAt ?? 'no',
  formatCount(one.contacts),
  formatCount(one.mails),
  formatRate(one.hardBounceRate),
  formatRate(one.worstHardBounceRate),
  formatRate(one.complaintRate),
  formatRate(one.worstComplaintRate),
  formatCount(one.failingWebhooks),
  formatCount(one.pendingWork),
  one.lastSentAt ?? 'never',
  one.name,
]

const formatRate = (rate: number | null) => (rate === null ? '–' : `${(100 * rate).toFixed(2)} %`)
