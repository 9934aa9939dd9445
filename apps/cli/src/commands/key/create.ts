import { createApiKey } from '@rapport/core/auth/api-keys.ts'
import { ApiKeyInput } from '@rapport/core/auth/auth.schema.ts'
import { IdOption } from '../../id-option.ts'
import { z } from 'zod'
import { defineCommand, exitCodes, jsonFlag, option } from '../../command.ts'
import { withWorkspace } from '../../database.ts'

const { name, role, expiresAt } = ApiKeyInput.shape
const dayMs = 86_400_000

/** "90d" is ninety days from now. */
const Expiry = z.preprocess((value) => {
  const [, days] = /^(\d{1,5})d$/.exec(String(value)) ?? []
  return days === undefined ? value : new Date(Date.now() + Number(days) * dayMs).toISOString()
}, expiresAt)

export const keyCreate = defineCommand({
  options: z.strictObject({
    workspace: IdOption('wsp').meta(option('<wsp_…>', 'Workspace of the key')),
    name: name.meta(option('<text>', 'Name of the key, shown in the list of keys')),
    role: role.meta(option('<role>', 'VIEWER, MEMBER or ADMIN (default: MEMBER)')),
    expires: Expiry.meta(option('<time>', 'Expiry: 90d, or 2027-01-01T00:00:00Z (default: never)')),
    json: jsonFlag('Prints the key with all its fields as JSON'),
  }),
  notes: [
    'Prints the key to standard output. It cannot be shown again, as only its hash is stored. The command connects to',
    'the database directly and is recorded in the audit log of the workspace.',
  ].join('\n'),
  async run(cli, { workspace, name, role, expires, json }) {
    const created = await withWorkspace(cli, workspace, (ctx) => createApiKey(ctx, { name, role, expiresAt: expires }))
    cli.terminal.print(json ? JSON.stringify(created) : created.key)
    const expiry = created.expiresAt === null ? 'never expires' : `expires ${created.expiresAt}`
    cli.terminal.log(
      `"${created.name}" has the role ${created.role} and ${expiry}. Store it now: it is shown only once.`,
    )
    return exitCodes.success
  },
})
