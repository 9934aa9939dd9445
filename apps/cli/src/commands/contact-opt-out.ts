import { z } from 'zod'
import { apiOptions, givenOf, openApi } from '../api-client.ts'
import { defineCommand, exitCodes, jsonFlag, option } from '../command.ts'
import { findContactId } from '../find-by-address.ts'
import { IdOption } from '../id-option.ts'

export const contactOptOut = defineCommand({
  positionals: ['contact'],
  options: z.strictObject({
    contact: z.string().meta(option('<contact>', 'The email address of the contact, or its id (con_…)')),
    list: IdOption('lst')
      .optional()
      .meta(option('<lst_…>', 'The list that the person left (default: all lists, also those to come)')),
    note: z.string().optional().meta(option('<text>', 'What the person said, and how; the proof of consent keeps it')),
    json: jsonFlag('Prints the contact as JSON'),
    ...apiOptions,
  }),
  notes: [
    'Records what a person said by telephone or letter, as good as their own unsubscribing: only they can revert it. An',
    'admin corrects a mistake within ten minutes: rapport contact undo-opt-out. The key needs the role MEMBER.',
  ].join('\n'),
  async run(cli, { contact, list: listId, note, json, ...access }) {
    const { rapport } = openApi(cli, access)
    const id = await findContactId({ rapport, signal: cli.stopping }, contact)
    const record = await rapport.contacts.optOut(id, givenOf({ listId, note }), { signal: cli.stopping })
    if (json) cli.terminal.print(JSON.stringify(record))
    cli.terminal.log(`${record.email} has opted out of ${listId ?? 'all lists'}.`)
    return exitCodes.success
  },
})
