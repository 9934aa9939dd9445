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
  summary: 'Issues an API key',
  options: z.strictObject({
    workspace: Id('wsp').meta(option('<wsp_…>', 'Of which workspace')),
    name: name.meta(option('<text>', 'To know it by in the list of keys')),
    role: role.meta(option('<role>', 'VIEWER, MEMBER or ADMIN (default: MEMBER)')),
    expires: Expiry.meta(option('<when>', 'When it ends: 90d, or 2027-01-01T00:00:00Z (default: never)')),
    json: z.boolean().default(false).meta(flag('Prints the whole record, key included, as JSON')),
  }),
  notes: [
    'Prints the key on standard output, this once: only its hash is stored. It works on the database itself, as the',
    'operator, and is recorded in the audit log of the workspace.',
  ].join('\n'),
  async run(cli, { workspace, name, role, expires, json }) {
    const created = await withOperator(cli, (base) =>
      createApiKey({ ...base, workspaceId: workspace, actor: { kind: 'system' } }, { name, role, expiresAt: expires }),
    )
    cli.terminal.print(json ? JSON.stringify(created) : created.key)
    const end = created.expiresAt === null ? 'it never ends by itself' : `it ends ${created.expiresAt}`
    cli.terminal.tell(`"${created.name}" has the role ${created.role}, ${end}. It is shown this once: keep it now.`)
    return exitCodes.good
  },
})
