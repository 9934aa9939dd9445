import { listApiKeys } from '@rapport/core/auth/api-keys.ts'
import { readAllPages } from '@rapport/core/request/paging.ts'
import { IdOption } from '../../id-option.ts'
import { z } from 'zod'
import { defineCommand, exitCodes, jsonFlag, option } from '../../command.ts'
import { withWorkspace } from '../../database.ts'
import { formatTable } from '../../terminal.ts'

export const keyList = defineCommand({
  options: z.strictObject({
    workspace: IdOption('wsp').meta(option('<wsp_…>', 'Workspace of the keys')),
    json: jsonFlag('Prints the keys with all their fields as JSON'),
  }),
  notes: [
    'Shows the beginning of each key, newest first. The command connects to the database directly. To find the id of a',
    'workspace, run "rapport workspace list".',
  ].join('\n'),
  async run(cli, { workspace, json }) {
    const keys = await withWorkspace(cli, workspace, (ctx) =>
      readAllPages((page) => listApiKeys(ctx, { ...page, sort: '-createdAt' })),
    )
    const rows = keys.map(({ id, prefix, role, rights, lastUsedAt, expiresAt, name }) => [
      id,
      prefix,
      role,
      rights?.join() ?? 'all',
      lastUsedAt ?? 'never',
      expiresAt ?? 'never',
      name,
    ])
    cli.terminal.print(
      json
        ? JSON.stringify({ data: keys })
        : formatTable([['id', 'key', 'role', 'rights', 'last used', 'expires', 'name'], ...rows]),
    )
    return exitCodes.success
  },
})
