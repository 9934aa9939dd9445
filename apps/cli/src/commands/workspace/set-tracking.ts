import { WorkspaceChange } from '@rapport/core/workspaces/workspaces.schema.ts'
import { updateWorkspace } from '@rapport/core/workspaces/update-workspace.ts'
import { z } from 'zod'
import { defineCommand, exitCodes, jsonFlag, option } from '../../command.ts'
import { withWorkspace } from '../../database.ts'
import { IdOption } from '../../id-option.ts'

export const workspaceSetTracking = defineCommand({
  positionals: ['workspace', 'level'],
  options: z.strictObject({
    workspace: IdOption('wsp').meta(option('<workspace>', 'Id of the workspace')),
    level: WorkspaceChange.shape.trackingWithoutConsent.unwrap().meta(option('<level>', 'OFF, ANONYMOUS or PERSON')),
    json: jsonFlag('Prints the level as JSON'),
  }),
  notes: [
    'What campaigns that track opens or clicks record of contacts who have neither granted nor denied it. OFF: nothing.',
    'ANONYMOUS: how often, without the contact. PERSON: the first open and click of each, which needs another legal ground',
    'than consent. The command connects to the database directly and is recorded in the audit log of the workspace.',
  ].join('\n'),
  async run(cli, { workspace, level, json }) {
    const changed = await withWorkspace(cli, workspace, (ctx) =>
      updateWorkspace(ctx, { trackingWithoutConsent: level }),
    )
    const { trackingWithoutConsent } = changed
    cli.terminal.print(
      json ? JSON.stringify({ workspaceId: workspace, trackingWithoutConsent }) : trackingWithoutConsent,
    )
    return exitCodes.success
  },
})
