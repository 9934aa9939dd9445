import { ForgotPasswordInput } from '@rapport/core/auth/auth.schema.ts'
import { sendPasswordReset } from '@rapport/core/auth/password-resets.ts'
import { z } from 'zod'
import { defineCommand, exitCodes, flag, jsonFlag, option } from '../command.ts'
import { namingId, withOperator } from '../database.ts'
import { formatCount } from '../terminal.ts'

const { email } = ForgotPasswordInput.shape

export const userReset = defineCommand({
  positionals: ['email'],
  options: z.strictObject({
    email: email.meta(option('<email>', 'Address of the account')),
    'end-sessions': z
      .boolean()
      .default(false)
      .meta(flag('Also logs the account out everywhere at once, before the new password')),
    json: jsonFlag('Prints the user and the number of ended sessions as JSON'),
  }),
  notes: [
    'The link is valid for an hour, and only the email has it: only the owner of the address can choose the password. If',
    'the mailbox is lost, invite another address with "rapport workspace invite". Choosing a password always ends all',
    'sessions. API keys stay valid: see "rapport key list". If the address was never verified, another person may have',
    'signed up with it: the new password also revokes the keys and invites of the account, and the command warns about it.',
    'The command connects to the database directly and is recorded in the audit log of each workspace of the account.',
  ].join('\n'),
  async run(cli, { email, 'end-sessions': endSessions, json }) {
    const sent = await withOperator(cli, (base) =>
      sendPasswordReset(base, { email, endSessions }).catch(namingId(`User ${email}`, 'rapport user list')),
    )
    if (json) cli.terminal.print(JSON.stringify(sent))
    cli.terminal.log(`The email to ${sent.email} is queued. ${formatCount(sent.endedSessions, 'session')} ended.`)
    if (sent.emailVerifiedAt === null) cli.terminal.log(unverifiedWarning)
    return exitCodes.success
  },
})

const unverifiedWarning =
  'The address was never verified: the new password also revokes the API keys and invites that the account created, ' +
  'disables the webhooks of the workspaces it owns, and deletes their mail hooks.'
