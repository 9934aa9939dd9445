import { z } from 'zod'
import { apiOptions, givenOf, openApi } from '../api-client.ts'
import { defineCommand, exitCodes, jsonFlag, option } from '../command.ts'
import { readData } from '../read-email-data.ts'
import { IdOption } from '../id-option.ts'

export const emailSend = defineCommand({
  positionals: ['template', 'to', 'data'],
  isLastRepeated: true,
  options: z.strictObject({
    template: IdOption('tpl').meta(option('<template>', 'The template')),
    to: z
      .string()
      .min(1, 'must not be empty')
      .meta(option('<to>', 'The address of the person, or the id of a contact (con_…)')),
    data: z
      .array(z.string())
      .default([])
      .meta(
        option('<data>', 'Values for the template: name=text, or name:=json for what is no text, such as total:=12.5'),
      ),
    'data-file': z
      .string()
      .optional()
      .meta(option('<file>', 'A JSON object with values; "-" is standard input. <data> takes precedence')),
    tags: z.string().optional().meta(option('<tags>', 'Your own labels, separated by commas')),
    'idempotency-key': z
      .string()
      .min(1, 'must not be empty')
      .optional()
      .meta(option('<key>', 'A repetition with the same key sends no second email (default: a new key)')),
    json: jsonFlag('Prints the email as JSON'),
    ...apiOptions,
  }),
  notes: [
    'Sends an email from a stored template to one person. The values of a secret, such as the link of a reset, belong in',
    'a file: other users of the machine can read arguments. The key needs the role MEMBER.',
  ].join('\n'),
  async run(cli, { template: templateId, to, data: values, 'data-file': file, tags, json, ...options }) {
    const { rapport } = openApi(cli, options)
    const data = await readData({ file, values })
    const email = await rapport.emails.create(
      {
        templateId,
        to: to.includes('@') ? { email: to } : { contactId: to },
        data,
        tags: tags === undefined ? [] : tags.split(',').map((tag) => tag.trim()),
      },
      { signal: cli.stopping, ...givenOf({ idempotencyKey: options['idempotency-key'] }) },
    )
    cli.terminal.print(json ? JSON.stringify(email) : email.id)
    cli.terminal.log(`The email to ${to} was accepted.`)
    return exitCodes.success
  },
})
