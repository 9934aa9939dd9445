import { listWorkspaces } from '@rapport/core/workspaces/list-workspaces.ts'
import { z } from 'zod'
import { defineCommand, exitCodes, jsonFlag } from '../../command.ts'
import { withDatabase } from '../../database.ts'
import { formatTable } from '../../terminal.ts'

export const workspaceList = defineCommand({
  options: z.strictObject({
    json: jsonFlag('Prints the workspaces as JSON'),
  }),
  notes: 'Lists all workspaces of the installation, oldest first. The command connects to the database directly.',
  async run(cli, { json }) {
    const workspaces = await withDatabase(cli, ({ db }) => listWorkspaces(db))
    const rows = workspaces.map(({ id, name, suspendedAt, createdAt }) => [id, createdAt, suspendedAt ?? 'no', name])
    cli.terminal.print(
      json ? JSON.stringify({ data: workspaces }) : formatTable([['id', 'created', 'suspended', 'name'], ...rows]),
    )
    return exitCodes.success
  },
})
