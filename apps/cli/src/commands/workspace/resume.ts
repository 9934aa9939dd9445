import { IdOption } from '../../id-option.ts'
import { resumeWorkspace } from '@rapport/core/workspaces/suspension.ts'
import { readWorkspace } from '@rapport/core/workspaces/workspaces.ts'
import { z } from 'zod'
import { defineCommand, exitCodes, jsonFlag, option } from '../../command.ts'
import { withWorkspace } from '../../database.ts'

export const workspaceResume = defineCommand({
  positionals: ['workspace'],
  options: z.strictObject({
    workspace: IdOption('wsp').meta(option('<workspace>', 'Id of the workspace')),
    json: jsonFlag('Prints since when the workspace is suspended as JSON'),
  }),
  notes: [
    'Emails, webhooks and imports that waited continue. The command connects to the database directly and is recorded in',
    'the audit log of the workspace.',
  ].join('\n'),
  async run(cli, { workspace, json }) {
    const { suspendedAt } = await withWorkspace(cli, workspace, async (ctx) => {
      await resumeWorkspace(ctx)
      return readWorkspace(ctx)
    })
    if (json) cli.terminal.print(JSON.stringify({ workspaceId: workspace, suspendedAt }))
    cli.terminal.log(`${workspace} is not suspended.`)
    return exitCodes.success
  },
})
