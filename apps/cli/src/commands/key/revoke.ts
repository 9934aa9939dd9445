import { deleteApiKey } from '@rapport/core/auth/api-keys.ts'
import { z } from 'zod'
import { defineCommand, exitCodes, jsonFlag, option } from '../../command.ts'
import { namingId, withWorkspace } from '../../database.ts'
import { IdOption } from '../../id-option.ts'

export const keyRevoke = defineCommand({
  positionals: ['key'],
  options: z.strictObject({
    key: IdOption('key').meta(option('<key>', 'Id of the API key (key_…), not the key itself')),
    workspace: IdOption('wsp').meta(option('<wsp_…>', 'Workspace of the key')),
    json: jsonFlag('Prints the id of the revoked key as JSON'),
  }),
  notes: [
    'The next request with the key is rejected. The command connects to the database directly and is recorded in the',
    'audit log of the workspace. "rapport key list" lists the ids.',
  ].join('\n'),
  async run(cli, { key, workspace, json }) {
    await withWorkspace(cli, workspace, (ctx) =>
      deleteApiKey(ctx, key).catch(namingId(`API key ${key}`, `rapport key list --workspace ${workspace}`)),
    )
    if (json) cli.terminal.print(JSON.stringify({ id: key, workspaceId: workspace }))
    cli.terminal.log(`${key} is revoked.`)
    return exitCodes.success
  },
})
