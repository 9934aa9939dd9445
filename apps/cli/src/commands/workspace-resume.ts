import { Id } from '@rapport/core/kernel/ids.ts'
import { resumeWorkspace } from '@rapport/core/workspaces/suspension.ts'
import { z } from 'zod'
import { defineCommand, exitCodes, option } from '../command.ts'
import { withOperator } from '../database.ts'

export const workspaceResume = defineCommand({
  name: 'workspace resume',
  summary: 'Ends the suspension of a workspace',
  positionals: ['workspace'],
  options: z.strictObject({
    workspace: Id('wsp').meta(option('<workspace>', 'Id of the workspace')),
  }),
  notes: [
    'Emails, webhooks and imports that waited continue. The command connects to the database directly and is recorded in',
    'the audit log of the workspace.',
  ].join('\n'),
  async run(cli, { workspace }) {
    await withOperator(cli, (base) => resumeWorkspace({ ...base, workspaceId: workspace, actor: { kind: 'system' } }))
    cli.terminal.log(`${workspace} is not suspended.`)
    return exitCodes.success
  },
})
