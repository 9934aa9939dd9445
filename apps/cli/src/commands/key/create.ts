import { createApiKey } from '@rapport/core/auth/api-keys.ts'
import { ApiKeyInput } from '@rapport/core/auth/auth.schema.ts'
import { IdOption } from '../../id-option.ts'
import { z } from 'zod'
import { defineCommand, exitCodes, jsonFlag, option } from '../../command.ts'
import { withWorkspace } from '../../database.ts'

const { name, role, rights, expiresAt } = ApiKeyInput.shape
const dayMs = 86_400_000

/** "90d" is ninety days from now. */
const Expiry = z.preprocess((value) => {
  const [, days] = /^(\d{1,5})d$/.exec(String(value)) ?? []
  return days === undefined ? value : new Date(Date.now() + Number(days) * dayMs).toISOString()
}, expiresAt)

/** Separated by commas. */
const RightsOption = z.preprocess(
  (value) => (typeof value === 'string' ? value.split(',').map((right) => right.trim()) : value),
  rights,
)

export const keyCreate = defineCommand({
  options: z.strictObject({
    workspace: IdOption('wsp').meta(option('<wsp_…>', 'Workspace of the key')),
    name: name.meta(option('<text>', 'Name of the key, shown in the list of keys')),
    role: role.meta(option('<role>', 'VIEWER, MEMBER or ADMIN (default: MEMBER)')),
    rights: RightsOption.meta(option('<list>', 'Limits the key: contacts.*,-contacts.export (default: no limit)')),
    expires: Expiry.meta(option('<time>', 'Expiry: 90d, or 2027-01-01T00:00:00Z (default: never)')),
    json: jsonFlag('Prints the key with all its fields as JSON'),
  }),
  notes: [
    'Prints the key to standard output. It cannot be shown again, as only its hash is stored. The command connects to',
    'the database directly and is recorded in the audit log of the workspace.',
  ].join('\n'),
  async run(cli, { workspace, name, role, rights, expires, json }) {
    const created = await withWorkspace(cli, workspace, (ctx) =>
      createApiKey(ctx, { name, role, rights, expiresAt: expires }),
    )
    cli.terminal.print(json ? JSON.stringify(created) : created.key)
    const limit = created.rights === null ? '' : `, is limited to ${created.rights.join()}`
    const expiry = created.expiresAt === null ? 'never expires' : `expires ${created.expiresAt}`
    cli.terminal.log(
      `"${created.name}" has the role ${created.role}${limit} and ${expiry}. Store it now: it is shown only once.`,
    )
    return exitCodes.success
  },
})
