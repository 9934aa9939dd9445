import { Id } from '@rapport/core/kernel/ids.ts'
import { suspendWorkspace } from '@rapport/core/workspaces/suspension.ts'
import { z } from 'zod'
import { defineCommand, exitCodes, option } from '../command.ts'
import { withOperator } from '../database.ts'

export const workspaceSuspend = defineCommand({
  name: 'workspace suspend',
  summary: 'Suspends a workspace: it can be read only',
  positionals: ['workspace'],
  options: z.strictObject({
    workspace: Id('wsp').meta(option('<workspace>', 'Id of the workspace')),
  }),
  notes: [
    'The workspace sends and changes nothing until "rapport workspace resume": writing requests return 403 with the code',
    'workspace_suspended, and emails, webhooks and imports wait. Its members can read, and subscribers can unsubscribe.',
    'The command connects to the database directly and is recorded in the audit log of the workspace.',
  ].join('\n'),
  async run(cli, { workspace }) {
    await withOperator(cli, (base) => suspendWorkspace({ ...base, workspaceId: workspace, actor: { kind: 'system' } }))
    cli.terminal.log(`${workspace} is suspended.`)
    return exitCodes.success
  },
})
