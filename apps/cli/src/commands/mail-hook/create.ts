import { MailHookInput } from '@rapport/core/mail-hooks/mail-hooks.schema.ts'
import { createInstallationHook } from '@rapport/core/mail-hooks/mail-hooks.ts'
import { z } from 'zod'
import { defineCommand, exitCodes, jsonFlag, option, usageError } from '../../command.ts'
import { withOperator } from '../../database.ts'

const { provider } = MailHookInput.shape

export const mailHookCreate = defineCommand({
  positionals: ['provider'],
  options: z.strictObject({
    provider: provider.meta(option('<provider>', 'mailgun, postmark, resend, sendgrid or ses')),
    secret: z
      .string()
      .optional()
      .meta(option('<text>', 'What signs the messages (default: the variable MAIL_HOOK_SECRET)')),
    json: jsonFlag('Prints the hook with all its fields as JSON'),
  }),
  notes: [
    'Prints the URL to enter at the provider. Its bounces and complaints then count for whichever workspace sent the',
    'email. The secret is, for ses: the ARN of the Amazon SNS topic; sendgrid: the verification key; mailgun: the HTTP',
    'webhook signing key; resend: the signing secret; postmark: a password of your choice. The command connects to the',
    'database directly. See docs/mail-providers.md.',
  ].join('\n'),
  async run(cli, { provider, secret = cli.environment.MAIL_HOOK_SECRET ?? '', json }) {
    const { data: input, error } = MailHookInput.safeParse({ provider, secret })
    if (!input) throw usageError(`--secret: ${error.issues[0]?.message}`)
    const hook = await withOperator(cli, (base) => createInstallationHook(base, input))
    cli.terminal.print(json ? JSON.stringify(hook) : hook.url)
    cli.terminal.log(`${hook.id} is created. Enter the URL as the webhook for bounces and complaints.`)
    return exitCodes.success
  },
})
