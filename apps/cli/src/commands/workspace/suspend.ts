import { IdOption } from '../../id-option.ts'
import { suspendWorkspace } from '@rapport/core/workspaces/suspension.ts'
import { readWorkspace } from '@rapport/core/workspaces/workspaces.ts'
import { z } from 'zod'
import { defineCommand, exitCodes, jsonFlag, option } from '../../command.ts'
import { withWorkspace } from '../../database.ts'

export const workspaceSuspend = defineCommand({
  positionals: ['workspace'],
  options: z.strictObject({
    workspace: IdOption('wsp').meta(option('<workspace>', 'Id of the workspace')),
    json: jsonFlag('Prints since when the workspace is suspended as JSON'),
  }),
  notes: [
    'The workspace sends and changes nothing until "rapport workspace resume": writing requests return 403 with the code',
    'workspace_suspended, and emails, webhooks and imports wait. Its members can read, and subscribers can unsubscribe.',
    'The command connects to the database directly and is recorded in the audit log of the workspace.',
  ].join('\n'),
  async run(cli, { workspace, json }) {
    const { suspendedAt } = await withWorkspace(cli, workspace, async (ctx) => {
      await suspendWorkspace(ctx)
      return readWorkspace(ctx)
    })
    if (json) cli.terminal.print(JSON.stringify({ workspaceId: workspace, suspendedAt }))
    cli.terminal.log(`${workspace} is suspended.`)
    return exitCodes.success
  },
})
