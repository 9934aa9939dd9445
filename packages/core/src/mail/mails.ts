import { and, eq, inArray, lt, sql } from 'drizzle-orm'
import type { Bounce } from './bounces/classify-bounce.ts'
import { byId } from '../request/by-id.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import type { Db } from '../db/client.ts'
import { purgeRows } from '../db/statements/purge-rows.ts'
import { transaction } from '../db/transaction.ts'
import { idOf, newId, uuidOf } from '../kernel/ids.ts'
import {
  type Claim,
  claimWork,
  finishClaim,
  latestToken,
  lockClaim,
  type Recovery,
  releaseClaim,
} from '../work/claims.ts'
import { enqueue, finishWork } from '../work/enqueue.ts'
import { type MailData, mailKinds, mails, requestedMailKinds } from '../db/schema/index.ts'
import { refundRelease, returnToBudget } from './budget/visitor-mails.ts'
import { hashProviderMessageId } from './providers/provider-message-id.ts'
import { timestampNow } from '../kernel/values/timestamps.ts'

export type MailKind = (typeof mailKinds)[number]
/** The kinds of single mails, the emails from templates, and the mails of campaigns. */
export const allMailKinds = ['CAMPAIGN', 'EMAIL', ...mailKinds] as const
export type AnyMailKind = (typeof allMailKinds)[number]
/** Also to an address that has opted out: the person asks for it. */
export type RequestedMailKind = (typeof requestedMailKinds)[number]
export const isRequestedMail = (kind: MailKind): kind is RequestedMailKind =>
  (requestedMailKinds as readonly MailKind[]).includes(kind)
export type Mail = typeof mails.$inferSelect
/** A mail that only the owner of the claim may send. Its `attempts` include the one that begins. */
export type ClaimedMail = Mail & { claim: Claim }

export const maxMailAttempts = 3

/** A suspended workspace sends only the mails that users need for their accounts. */
const accountMailKinds: readonly MailKind[] = ['PASSWORD_RESET', 'EMAIL_VERIFICATION']

/** Enqueues a single mail in the caller's transaction. `data` contains the ids of the records that the mail shows. */
export async function enqueueMail(ctx: Ctx, mail: { kind: MailKind; to: string; data: MailData }): Promise<void> {
  const id = newId('mai')
  await ctx.db
    .insert(mails)
    .values({ workspaceId: ctx.workspaceId, id, kind: mail.kind, toAddress: mail.to, data: mail.data })
  await enqueue(ctx, accountMailKinds.includes(mail.kind) ? 'ACCOUNT_MAIL' : 'MAIL', id)
}

/** Claims a PENDING mail. Of concurrent callers, one gets the mail. */
export function claimMail(ctx: Ctx, claim: Claim): Promise<ClaimedMail | undefined> {
  return inTransaction(ctx, async (ctx) => {
    const isPending = and(byId(mails, ctx, idOf('mai', claim.id)), eq(mails.status, 'PENDING'))
    const [mail] = await ctx.db.select().from(mails).where(isPending).for('update')
    if (!mail || !(await claimWork(ctx, claim))) return undefined
    const token = latestToken(claim)
    await ctx.db.update(mails).set({ token }).where(isPending)
    return { ...mail, attempts: mail.attempts + 1, token, claim }
  })
}

/** Deletes up to 1,000 mails whose outcome was recorded more than 30 days ago. Returns their number. */
export async function purgeMails(db: Db): Promise<number> {
  const past = sql`now() - interval '30 days'`
  return purgeRows(db, mails, and(lt(mails.createdAt, past), lt(mails.endedAt, past)))
}

/**
 * `ambiguous`: the connection was lost before the response, so the server may have accepted the mail. `affectsAll`:
 * every other mail would fail too (no connection, login or sender refused, rendering failed). `bounce`: the server
 * refused this recipient or this message. `isUnattempted`: no server was asked. `isResponse`: `error` is what
 * a server said. `providerMessageId`: see `findProviderMessageId`.
 */
export type MailOutcome =
  | { kind: 'sent'; providerMessageId?: string | null }
  | {
      kind: 'refused'
      temporary: boolean
      error: string
      affectsAll?: boolean
      isUnattempted?: boolean
      isResponse?: boolean
      bounce?: Bounce
    }
  | { kind: 'ambiguous'; error: string; isResponse?: boolean }

/** Whether a later attempt may succeed. A login or sender that is refused may be repaired until then. */
export const mayPassLater = ({ temporary, affectsAll }: Extract<MailOutcome, { kind: 'refused' }>): boolean =>
  temporary || affectsAll === true

/**
 * Records the outcome of an attempt. Returns `retry` if the mail is PENDING again, which happens at most twice:
 * - after a refusal that may pass (`mayPassLater`);
 * - after an ambiguous outcome, because a duplicate confirmation, invite or reset is better than none. A test mail is
 *   INTERRUPTED instead: it is sent at most once. A mail with a budget is counted again before it is repeated.
 *
 * An outcome that comes late, after recovery, counts unless another attempt has begun. If the mail is INTERRUPTED by
 * then, it has no work anymore, so it becomes FAILED instead of PENDING.
 */
export function recordMailOutcome(ctx: Ctx, mail: ClaimedMail, outcome: MailOutcome) {
  const status = decideStatus(mail, outcome)
  return inTransaction(ctx, async (ctx): Promise<'done' | 'retry'> => {
    const isLastAttempt = and(byId(mails, ctx, mail.id), eq(mails.token, mail.token ?? ''))
    const [current] = await ctx.db
      .select({ status: mails.status })
      .from(mails)
      .where(and(isLastAttempt, inArray(mails.status, ['PENDING', 'INTERRUPTED'])))
      .for('update')
    if (!current) return 'done'
    const recorded = status === 'PENDING' && current.status === 'INTERRUPTED' ? 'FAILED' : status
    await ctx.db
      .update(mails)
      .set({
        status: recorded,
        attempts: mail.attempts,
        error: outcome.kind === 'sent' ? null : outcome.error,
        providerMessageHash: hashOf(outcome),
        endedAt: recorded === 'PENDING' ? null : timestampNow(),
      })
      .where(isLastAttempt)
    const waits = recorded === 'PENDING' && outcome.kind === 'ambiguous' && (await returnToBudget(ctx, mail.id))
    if (recorded === 'PENDING' && !waits) {
      await releaseClaim(ctx, mail.claim, 'retry')
      return 'retry'
    }
    await finishWork(ctx, [uuidOf(mail.id)])
    if (recorded === 'FAILED' && isUnsent(outcome)) await refundRelease(ctx, mail.id)
    return 'done'
  })
}

/** Whether no mail can have left: nothing to send, or no server that takes any. */
const isUnsent = (outcome: MailOutcome) =>
  outcome.kind === 'refused' && (outcome.isUnattempted === true || outcome.affectsAll === true)

/** Whether no further attempt follows. */
export const isFinalOutcome = (mail: Mail, outcome: MailOutcome): boolean => decideStatus(mail, outcome) !== 'PENDING'

const hashOf = (outcome: MailOutcome) =>
  outcome.kind === 'sent' && outcome.providerMessageId ? hashProviderMessageId(outcome.providerMessageId) : null

function decideStatus(mail: Mail, outcome: MailOutcome): Mail['status'] {
  if (outcome.kind === 'sent') return 'SENT'
  const isRetryable = outcome.kind === 'refused' ? mayPassLater(outcome) : mayBeRepeated(mail)
  if (isRetryable && mail.attempts < maxMailAttempts) return 'PENDING'
  return outcome.kind === 'ambiguous' ? 'INTERRUPTED' : 'FAILED'
}

/** Whether a duplicate of the mail is better than none. */
const mayBeRepeated = ({ kind }: Pick<Mail, 'kind'>) => kind !== 'CAMPAIGN_TEST'

/**
 * Ends a claim whose outcome is unknown: the mail may have been sent. It is sent again if a duplicate is better than
 * none and attempts are left; otherwise it becomes INTERRUPTED. Returns the kind of a mail that became INTERRUPTED.
 */
export function recoverMail(db: Db, claim: Claim, { error, release }: Recovery): Promise<MailKind | undefined> {
  return transaction(db, async (db) => {
    const isMail = and(eq(mails.workspaceId, claim.workspaceId), eq(mails.id, idOf('mai', claim.id)))
    const [mail] = await db.select().from(mails).where(isMail).for('update')
    if (!mail || !(await lockClaim({ db }, claim))) return undefined
    const attempts = mail.attempts + 1
    if (mayBeRepeated(mail) && attempts < maxMailAttempts) {
      await db.update(mails).set({ attempts, error }).where(isMail)
      if (await returnToBudget({ db, workspaceId: mail.workspaceId }, mail.id)) await finishClaim({ db }, claim)
      else await releaseClaim({ db }, claim, release)
      return undefined
    }
    await db.update(mails).set({ status: 'INTERRUPTED', attempts, error, endedAt: timestampNow() }).where(isMail)
    await finishClaim({ db }, claim)
    return mail.kind
  })
}
