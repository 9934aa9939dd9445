import { createApiKey } from '@rapport/core/auth/api-keys.ts'
import { ApiKeyInput } from '@rapport/core/auth/auth.schema.ts'
import { Id } from '@rapport/core/kernel/ids.ts'
import { z } from 'zod'
import { defineCommand, exitCodes, flag, option } from '../command.ts'
import { withOperator } from '../database.ts'

const { name, role, expiresAt } = ApiKeyInput.shape
const dayMs = 86_400_000

/** "90d" is ninety days from now. */
const Expiry = z.preprocess((value) => {
  const [, days] = /^(\d{1,5})d$/.exec(String(value)) ?? []
  return days === undefined ? value : new Date(Date.now() + Number(days) * dayMs).toISOString()
}, expiresAt)

export const keyCreate = defineCommand({
  name: 'key create',
  summary: 'Creates an API key',
  options: z.strictObject({
    workspace: Id('wsp').meta(option('<wsp_…>', 'Workspace of the key')),
    name: name.meta(option('<text>', 'Name of the key, shown in the list of keys')),
    role: role.meta(option('<role>', 'VIEWER, MEMBER or ADMIN (default: MEMBER)')),
    expires: Expiry.meta(option('<when>', 'Expiry: 90d, or 2027-01-01T00:00:00Z (default: never)')),
    json: z.boolean().default(false).meta(flag('Prints the key with all its fields as JSON')),
  }),
  notes: [
    'Prints the key to standard output. It cannot be shown again, as only its hash is stored. The command connects to',
    'the database directly and is recorded in the audit log of the workspace.',
  ].join('\n'),
  async run(cli, { workspace, name, role, expires, json }) {
    const created = await withOperator(cli, (base) =>
      createApiKey({ ...base, workspaceId: workspace, actor: { kind: 'system' } }, { name, role, expiresAt: expires }),
    )
    cli.terminal.print(json ? JSON.stringify(created) : created.key)
    const expiry = created.expiresAt === null ? 'never expires' : `expires ${created.expiresAt}`
    cli.terminal.log(
      `"${created.name}" has the role ${created.role} and ${expiry}. Store it now: it is shown only once.`,
    )
    return exitCodes.success
  },
})
