import { listInstallationHooks } from '@rapport/core/mail-hooks/mail-hooks.ts'
import { z } from 'zod'
import { defineCommand, exitCodes, jsonFlag } from '../../command.ts'
import { withOperator } from '../../database.ts'
import { formatTable } from '../../terminal.ts'

export const mailHookList = defineCommand({
  options: z.strictObject({ json: jsonFlag('Prints the hooks with all their fields as JSON') }),
  notes: [
    'Shows the hooks of the installation, oldest first, and when each last received a message with a valid signature. The',
    'hooks of a workspace are listed by GET /mail-hooks. The command connects to the database directly.',
  ].join('\n'),
  async run(cli, { json }) {
    const hooks = await withOperator(cli, listInstallationHooks)
    const rows = hooks.map(({ id, provider, lastMessageAt, url }) => [id, provider, lastMessageAt ?? 'never', url])
    cli.terminal.print(
      json ? JSON.stringify({ data: hooks }) : formatTable([['id', 'provider', 'last message', 'url'], ...rows]),
    )
    return exitCodes.success
  },
})
