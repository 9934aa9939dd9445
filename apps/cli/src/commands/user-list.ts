import { listUsers, type UserOverview } from '@rapport/core/auth/list-users.ts'
import { z } from 'zod'
import { defineCommand, exitCodes, jsonFlag, option } from '../command.ts'
import { withDatabaseOf } from '../database.ts'
import { IdOption } from '../id-option.ts'
import { formatTable, type Terminal } from '../terminal.ts'

export const userList = defineCommand({
  options: z.strictObject({
    workspace: IdOption('wsp').optional().meta(option('<wsp_…>', 'Only members of this workspace (default: all)')),
    json: jsonFlag('Prints the accounts as JSON'),
  }),
  notes: [
    'Lists accounts, oldest first: address, whether it is verified, last login, and role in each workspace. The last',
    'login is read from the audit log, which RETENTION_AUDIT_DAYS limits. The command connects to the database directly',
    'and reads 500 accounts at a time.',
  ].join('\n'),
  async run(cli, { workspace, json }) {
    const print = json ? printJson : printTable
    await withDatabaseOf(cli, workspace, (db) => print(cli.terminal, listUsers(db, { workspaceId: workspace })))
    return exitCodes.success
  },
})

type Pages = AsyncIterable<UserOverview[]>

/** Prints one JSON document, page by page. */
async function printJson(terminal: Terminal, pages: Pages): Promise<void> {
  let separator = '{"data":['
  for await (const page of pages) {
    terminal.print(separator + page.map((user) => JSON.stringify(user)).join(',\n'))
    separator = ','
  }
  terminal.print(separator === ',' ? ']}' : `${separator}]}`)
}

/** Aligns the columns of each page. */
async function printTable(terminal: Terminal, pages: Pages): Promise<void> {
  let header = [['id', 'email', 'verified', 'last login', 'workspaces']]
  for await (const page of pages) {
    terminal.print(formatTable([...header, ...page.map(toRow)]))
    header = []
  }
  if (header.length > 0) terminal.print(formatTable(header))
}

const toRow = ({ id, email, emailVerifiedAt, lastLoginAt, workspaces }: UserOverview) => [
  id,
  email,
  emailVerifiedAt === null ? 'no' : 'yes',
  lastLoginAt ?? 'never',
  workspaces.map(({ id, role }) => `${id} ${role}`).join(', '),
]
