import { AppError } from '../kernel/errors.ts'
import type { Ctx } from '../request/context.ts'
import { acceptEmails } from './accept-emails.ts'
import { toEmail } from './email-record.ts'
import type { EmailInput, EmailRecord } from './emails.schema.ts'

/**
 * Accepts an email to one person: it is sent in the background, at most once. Throws `validation_error` for an unknown
 * template or recipient and for values that do not fit the template, `wrong_state` while the template is PAUSED,
 * `opted_out` if the address is suppressed, and `quota_exceeded`.
 */
export async function createEmail(ctx: Ctx, input: EmailInput): Promise<EmailRecord> {
  const [result] = await acceptEmails(ctx, [input])
  if (!result) throw new Error('acceptEmails returned no result')
  if (result instanceof AppError) throw result
  return toEmail(result)
}
