import { z } from 'zod'
import { apiOptions, givenOf, openApi } from '../api-client.ts'
import { defineCommand, exitCodes, jsonFlag, option } from '../command.ts'
import { findContactId } from '../find-by-address.ts'
import { IdOption } from '../id-option.ts'

export const contactUndoOptOut = defineCommand({
  positionals: ['contact'],
  options: z.strictObject({
    contact: z.string().meta(option('<contact>', 'The email address of the contact, or its id (con_…)')),
    list: IdOption('lst')
      .optional()
      .meta(option('<lst_…>', 'The list of the opt-out (default: the opt-out from all lists)')),
    json: jsonFlag('Prints the contact as JSON'),
    ...apiOptions,
  }),
  notes: [
    'Corrects "rapport contact opt-out" within ten minutes: the subscriptions return as they were. It fails if the person',
    'has opted out themselves. The key needs the role ADMIN.',
  ].join('\n'),
  async run(cli, { contact, list: listId, json, ...access }) {
    const { rapport } = openApi(cli, access)
    const id = await findContactId({ rapport, signal: cli.stopping }, contact)
    const record = await rapport.contacts.undoOptOut(id, givenOf({ listId }), { signal: cli.stopping })
    if (json) cli.terminal.print(JSON.stringify(record))
    cli.terminal.log(`The opt-out of ${record.email} is undone: the contact is ${record.emailSubscribedStatus}.`)
    return exitCodes.success
  },
})
