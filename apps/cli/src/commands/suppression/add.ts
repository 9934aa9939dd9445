import { SuppressionInput } from '@rapport/core/suppressions/suppressions.schema.ts'
import { z } from 'zod'
import { apiOptions, givenOf, openApi } from '../../api-client.ts'
import { defineCommand, exitCodes, jsonFlag, option } from '../../command.ts'

export const suppressionAdd = defineCommand({
  positionals: ['email'],
  options: z.strictObject({
    email: z.string().meta(option('<email>', 'The address to suppress')),
    reason: SuppressionInput.shape.reason
      .default('MANUAL')
      .meta(option('<reason>', 'MANUAL: a block; OPTED_OUT: the person said so; BOUNCED (default: MANUAL)')),
    list: SuppressionInput.shape.listId.meta(option('<list>', 'Only this list, with OPTED_OUT (default: every list)')),
    note: z.string().optional().meta(option('<text>', 'A note for the users')),
    json: jsonFlag('Prints the suppression as JSON'),
    ...apiOptions,
  }),
  notes: [
    'The workspace sends nothing to the address from now on, and the subscriptions of its contact end at once.',
    'OPTED_OUT can be reverted only by the person. The key needs the role MEMBER.',
  ].join('\n'),
  async run(cli, { email, reason, list: listId, note, json, ...access }) {
    const { rapport } = openApi(cli, access)
    const record = await rapport.suppressions.create(givenOf({ email, reason, listId, note }), { signal: cli.stopping })
    cli.terminal.print(json ? JSON.stringify(record) : record.id)
    cli.terminal.log(`${email} is suppressed: ${record.reason}${record.listId ? ` for ${record.listId}` : ''}.`)
    return exitCodes.success
  },
})
