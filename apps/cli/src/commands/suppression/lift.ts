import { SuppressionLift } from '@rapport/core/suppressions/suppressions.schema.ts'
import { z } from 'zod'
import { apiOptions, openApi } from '../../api-client.ts'
import { defineCommand, exitCodes, jsonFlag, option } from '../../command.ts'
import { findSuppressionId } from '../../find-by-address.ts'

export const suppressionLift = defineCommand({
  positionals: ['suppression'],
  options: z.strictObject({
    suppression: z.string().meta(option('<suppression>', 'The suppressed email address, or the id (sup_…)')),
    note: SuppressionLift.shape.note.meta(option('<text>', 'Why it is lifted; the audit log keeps it')),
    reason: z
      .enum(['BOUNCED', 'MANUAL'])
      .optional()
      .meta(option('<reason>', 'BOUNCED or MANUAL, for an address with both')),
    json: jsonFlag('Prints the id of the suppression as JSON'),
    ...apiOptions,
  }),
  notes: [
    'Lifts a bounce or a block: the subscriptions that only these ended return. What the person said (OPTED_OUT,',
    'COMPLAINED) remains, because only they can revert it. The key needs the role ADMIN.',
  ].join('\n'),
  async run(cli, { suppression, note, reason, json, ...access }) {
    const { rapport } = openApi(cli, access)
    const id = await findSuppressionId({ rapport, signal: cli.stopping }, suppression, reason)
    await rapport.suppressions.delete(id, { note }, { signal: cli.stopping })
    if (json) cli.terminal.print(JSON.stringify({ id }))
    cli.terminal.log(`${suppression}: lifted.`)
    return exitCodes.success
  },
})
