import { type FailingWebhookState, listFailingWebhooks } from '@rapport/core/webhooks/health/failing-webhooks.ts'
import { z } from 'zod'
import { defineCommand, exitCodes, jsonFlag, option } from '../command.ts'
import { withDatabaseOf } from '../database.ts'
import { IdOption } from '../id-option.ts'
import { formatTable } from '../terminal.ts'

export const webhookFailing = defineCommand({
  options: z.strictObject({
    workspace: IdOption('wsp').optional().meta(option('<wsp_…>', 'Only webhooks of this workspace (default: all)')),
    json: jsonFlag('Prints the webhooks as JSON'),
  }),
  notes: [
    'Lists enabled webhooks with an attempt in the last day, the one that has been failing for longest first. Of the URL,',
    'only the origin is shown: the rest may contain secrets. The command connects to the database directly. See "RapportWebhooksFailing" in',
    'docs/alerts.md.',
  ].join('\n'),
  async run(cli, { workspace: workspaceId, json }) {
    const webhooks = await withDatabaseOf(cli, workspaceId, (db) => listFailingWebhooks(db, { workspaceId }))
    cli.terminal.print(json ? JSON.stringify({ data: webhooks }) : formatFailingWebhooks(webhooks))
    return exitCodes.success
  },
})

export function formatFailingWebhooks(webhooks: readonly FailingWebhookState[]): string {
  if (webhooks.length === 0) return 'No webhook has failed for an hour.'
  return formatTable([
    ['failing since', 'failures', 'paused until', 'workspace', 'webhook', 'receiver', 'last error'],
    ...webhooks.map((one) => [
      one.failingSince,
      one.failureCount,
      one.pausedUntil ?? 'no',
      one.workspaceId,
      one.webhookId,
      one.origin,
      one.lastError ?? '–',
    ]),
  ])
}
