import { AppError, invalidFields, limitIssues } from '../kernel/errors.ts'
import { toIssues } from '../kernel/zod-messages.ts'
import type { Ctx } from '../request/context.ts'
import { parseLenient } from '../request/parse-lenient.ts'
import { acceptEmails, isRefusal } from './accept-emails.ts'
import { toEmail } from './email-record.ts'
import {
  type EmailBatch,
  type EmailBatchFailure,
  type EmailBatchResult,
  type EmailBatchResults,
  EmailInput,
} from './emails.schema.ts'

/**
 * Accepts up to 100 emails in one transaction. An entry that fails does not affect the others. If the database is
 * unavailable, none is accepted.
 */
export async function createEmailBatch(ctx: Ctx, { emails }: EmailBatch): Promise<EmailBatchResults> {
  const results = new Map<number, EmailBatchResult>()
  const entries: { index: number; input: EmailInput }[] = []
  for (const [index, email] of emails.entries()) {
    const { data: input, error } = parseLenient(EmailInput, email)
    if (error) results.set(index, toFailure(invalidFields(limitIssues(toIssues(error, Object.keys(EmailInput.shape))))))
    else entries.push({ index, input })
  }
  const accepted = await acceptEmails(
    ctx,
    entries.map(({ input }) => input),
  )
  for (const [at, { index }] of entries.entries()) {
    const result = accepted[at]
    if (result instanceof AppError) results.set(index, toFailure(result))
    else if (result) results.set(index, { status: 'ACCEPTED', email: toEmail(result) })
  }
  return { results: emails.flatMap((_email, index) => results.get(index) ?? []) }
}

function toFailure(error: AppError): EmailBatchFailure {
  const { message, issues } = error
  return {
    status: 'FAILED',
    code: isRefusal(error) ? error.code : 'validation_error',
    message,
    ...(issues && { issues: issues.slice() }),
  }
}
