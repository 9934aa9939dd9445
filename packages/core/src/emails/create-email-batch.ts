import { lockContacts } from '../contacts/lock-contact.ts'
import { findContactsByKeys } from '../contacts/find-contact.ts'
import { AppError, invalidFields, limitIssues } from '../kernel/errors.ts'
import { toIssues } from '../kernel/zod-messages.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { inRounds } from '../request/in-rounds.ts'
import { parseLenient } from '../request/parse-lenient.ts'
import { contactQuota } from '../quotas/record-quota.ts'
import { enqueueAll } from '../work/enqueue.ts'
import { insertEmail } from './create-email.ts'
import { lockEmailQuotas } from './email-quotas.ts'
import { toEmail } from './email-record.ts'
import {
  type EmailBatch,
  type EmailBatchFailure,
  type EmailBatchResult,
  type EmailBatchResults,
  EmailInput,
} from './emails.schema.ts'

interface Entry {
  index: number
  input: EmailInput
}

/**
 * Accepts up to 100 emails in one transaction. An entry that fails does not affect the others. If the database is
 * unavailable, none is accepted.
 */
export async function createEmailBatch(ctx: Ctx, { emails }: EmailBatch): Promise<EmailBatchResults> {
  const results = new Map<number, EmailBatchResult>()
  const entries: Entry[] = []
  for (const [index, email] of emails.entries()) {
    const { data: input, error } = parseLenient(EmailInput, email)
    if (error) results.set(index, toFailure(invalidFields(limitIssues(toIssues(error, Object.keys(EmailInput.shape))))))
    else entries.push({ index, input })
  }
  const accepted = await inRounds(ctx, (ctx) => insertAll(ctx, entries))
  for (const [index, result] of accepted) results.set(index, result)
  return { results: emails.flatMap((_email, index) => results.get(index) ?? []) }
}

async function insertAll(ctx: Ctx, entries: readonly Entry[]): Promise<Map<number, EmailBatchResult>> {
  const results = new Map<number, EmailBatchResult>()
  await lockRecipients(ctx, entries)
  const ids = []
  for (const { index, input } of sortByEmail(entries)) {
    try {
      const email = await inTransaction(ctx, (ctx) => insertEmail(ctx, input))
      ids.push(email.id)
      results.set(index, { status: 'ACCEPTED', email: toEmail(email) })
    } catch (error) {
      if (!(error instanceof AppError) || !isFailureCode(error.code)) throw error
      results.set(index, toFailure(error))
    }
  }
  await enqueueAll(ctx, 'EMAIL', ids)
  return results
}

/** In the order of all writers, the quotas and then the contacts by id, so that none of two waits for the other. */
async function lockRecipients(ctx: Ctx, entries: readonly Entry[]): Promise<void> {
  await contactQuota.read(ctx)
  await lockEmailQuotas(ctx, entries.length)
  const keys = entries.flatMap(({ input: { to } }) => ('contactId' in to ? [] : [to]))
  const known = await findContactsByKeys(ctx, keys)
  const named = entries.flatMap(({ input: { to } }) => ('contactId' in to ? [to.contactId] : []))
  await lockContacts(ctx, [...known.map(({ id }) => id), ...named])
}

const emailOf = ({ input: { to } }: Entry) => ('email' in to ? to.email.toLowerCase() : '')
/** New contacts are inserted by address: see `writeContacts`. Those to one address keep their order. */
const sortByEmail = (entries: readonly Entry[]) =>
  entries.toSorted((one, other) => Number(emailOf(one) > emailOf(other)) - Number(emailOf(one) < emailOf(other)))

const failureCodes = [
  'validation_error',
  'opted_out',
  'wrong_state',
  'forbidden',
  'domain_not_verified',
  'quota_exceeded',
  'identity_conflict',
] as const satisfies EmailBatchFailure['code'][]
const isFailureCode = (code: AppError['code']): code is EmailBatchFailure['code'] =>
  (failureCodes as readonly string[]).includes(code)

function toFailure({ code, message, issues }: AppError): EmailBatchFailure {
  return {
    status: 'FAILED',
    code: isFailureCode(code) ? code : 'validation_error',
    message,
    ...(issues && { issues: issues.slice() }),
  }
}
