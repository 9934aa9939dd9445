import { deleteWorkspace } from '@rapport/core/operations/workspaces/delete-workspace.ts'
import { readWorkspace } from '@rapport/core/workspaces/workspaces.ts'
import { AppError } from '@rapport/core/kernel/errors.ts'
import { z } from 'zod'
import { defineCommand, exitCodes, jsonFlag, option, usageError } from '../../command.ts'
import { withWorkspace } from '../../database.ts'
import { IdOption } from '../../id-option.ts'

export const workspaceDelete = defineCommand({
  positionals: ['workspace'],
  options: z.strictObject({
    workspace: IdOption('wsp').meta(option('<workspace>', 'Id of the workspace')),
    name: z.string().meta(option('<text>', 'Name of the workspace, to confirm that it is the right one')),
    json: jsonFlag('Prints the id and the name of the deleted workspace as JSON'),
  }),
  notes: [
    'This cannot be undone. All access ends at once: sessions, API keys, forms and links in emails. Members without',
    'another workspace lose their accounts. A worker deletes the records in the background, and the audit log with them.',
    'To stop a workspace without deleting it, use "rapport workspace suspend".',
  ].join('\n'),
  async run(cli, { workspace, name, json }) {
    const deleted = await withWorkspace(cli, workspace, async (ctx) => {
      const found = await readWorkspace(ctx)
      await deleteWorkspace(ctx, { name }).catch((error: unknown) => {
        const isOtherName = error instanceof AppError && error.code === 'validation_error'
        throw isOtherName ? usageError(`--name: ${workspace} is named "${found.name}", not "${name}"`) : error
      })
      return found
    })
    if (json) cli.terminal.print(JSON.stringify({ id: deleted.id, name: deleted.name }))
    cli.terminal.log(`Deleted ${deleted.id} "${deleted.name}". A worker deletes its records in the background.`)
    return exitCodes.success
  },
})
