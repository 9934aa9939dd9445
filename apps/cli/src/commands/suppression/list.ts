import { SuppressionQuery } from '@rapport/core/suppressions/suppressions.schema.ts'
import type { Suppression } from '@rapport/sdk'
import { z } from 'zod'
import { apiOptions, givenOf, openApi } from '../../api-client.ts'
import { defineCommand, exitCodes, jsonFlag, option } from '../../command.ts'
import { formatCount, formatTable } from '../../terminal.ts'

export const suppressionList = defineCommand({
  options: z.strictObject({
    email: z.string().optional().meta(option('<address>', 'Only suppressions of this address')),
    reason: SuppressionQuery.shape.reason.meta(
      option('<reason>', 'Only those with this reason: COMPLAINED, OPTED_OUT, BOUNCED or MANUAL'),
    ),
    source: SuppressionQuery.shape.source.meta(
      option('<source>', 'Only those from this source: MAIL_EVENT, LINK, API or IMPORT'),
    ),
    list: SuppressionQuery.shape.listId.meta(
      option(
        '<list>',
        'Only those of this list; any: of every list too (default: any with --email, otherwise those for all lists)',
      ),
    ),
    json: jsonFlag('Prints the suppressions with all their fields as JSON'),
    ...apiOptions,
  }),
  notes: [
    'Lists the addresses to which the workspace sends nothing, newest first. The addresses themselves are not stored, only',
    'keyed hashes; --email finds one, needs a key with the role MEMBER, and is recorded in the audit log.',
  ].join('\n'),
  async run(cli, { email, reason, source, list, json, ...access }) {
    const { rapport } = openApi(cli, access)
    const listId = list ?? (email === undefined ? undefined : 'any')
    const query = givenOf({ email, reason, source, listId, limit: 100 })
    const found: Suppression[] = []
    for await (const record of rapport.suppressions.list(query, { signal: cli.stopping })) {
      found.push(record)
      cli.terminal.showProgress(formatCount(found.length, 'suppression'))
    }
    const rows = found.map(({ id, saidAt, reason, source, listId, contactId, note }) => [
      id,
      saidAt,
      reason,
      source,
      listId ?? 'all',
      contactId ?? '-',
      note?.replaceAll('\n', ' ') ?? '',
    ])
    const header = ['id', 'said', 'reason', 'source', 'list', 'contact', 'note']
    cli.terminal.print(json ? JSON.stringify({ data: found }) : formatTable([header, ...rows]))
    return exitCodes.success
  },
})
