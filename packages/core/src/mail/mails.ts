import { and, eq, inArray, not, or, sql } from 'drizzle-orm'
import { byId } from '../request/by-id.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import type { Db } from '../db/client.ts'
import { idOf, newId, uuidOf } from '../kernel/ids.ts'
import { enqueue, finishWork } from '../jobs/outbox.ts'
import { isInSuspendedWorkspace } from '../request/suspended-workspace.ts'
import { type MailData, mailKinds, mails } from '../db/schema/index.ts'

export type MailKind = (typeof mailKinds)[number]
/** The kinds of single mails, and the mails of campaigns. */
export const allMailKinds = ['CAMPAIGN', ...mailKinds] as const
export type AnyMailKind = (typeof allMailKinds)[number]
export type Mail = typeof mails.$inferSelect

export const maxMailAttempts = 3

/** Enqueues a single mail in the caller's transaction. `data` contains the ids of the records that the mail shows. */
export async function enqueueMail(ctx: Ctx, mail: { kind: MailKind; to: string; data: MailData }): Promise<void> {
  const id = newId('mai')
  await ctx.db
    .insert(mails)
    .values({ workspaceId: ctx.workspaceId, id, kind: mail.kind, toAddress: mail.to, data: mail.data })
  await enqueue(ctx, 'mail', id)
}

/** A suspended workspace sends only the mails that users need for their accounts. */
const canBeSent = or(
  inArray(mails.kind, ['PASSWORD_RESET', 'EMAIL_VERIFICATION']),
  not(isInSuspendedWorkspace(mails.workspaceId)),
)

/** Claims a PENDING mail. Of concurrent callers, one gets the mail, and only that caller may send it. */
export async function claimMail(ctx: Ctx, uuid: string, workerId: string): Promise<Mail | undefined> {
  const [mail] = await ctx.db
    .update(mails)
    .set({ status: 'SENDING', workerId, attempts: sql`${mails.attempts} + 1` })
    .where(and(byId(mails, ctx, idOf('mai', uuid)), eq(mails.status, 'PENDING'), canBeSent))
    .returning()
  return mail
}

/** Releases a mail if the response to `claimMail` was lost, so that the caller made no attempt. */
export async function releaseMail(ctx: Ctx, uuid: string, workerId: string): Promise<void> {
  await ctx.db
    .update(mails)
    .set({ status: 'PENDING', workerId: null, attempts: sql`${mails.attempts} - 1` })
    .where(and(byId(mails, ctx, idOf('mai', uuid)), eq(mails.status, 'SENDING'), eq(mails.workerId, workerId)))
}

/** Deletes up to 1,000 mails whose outcome was recorded more than 30 days ago. Returns their number. */
export async function purgeMails(db: Db): Promise<number> {
  const result = await db.execute(sql`
    delete from mails where (workspace_id, id) in (
      select workspace_id, id from mails
      where created_at < now() - interval '30 days' and settled_at < now() - interval '30 days' limit 1000)`)
  return result.rowCount ?? 0
}

/**
 * `ambiguous`: the connection was lost before the response, so the server may have accepted the mail. `affectsAll`:
 * every other mail would fail too (no connection, login or sender refused, rendering failed).
 */
export type MailOutcome =
  | { kind: 'sent' }
  | { kind: 'refused'; temporary: boolean; error: string; affectsAll?: boolean }
  | { kind: 'ambiguous'; error: string }

/**
 * Records the outcome of an attempt. Returns `retry` if the mail is PENDING again, which happens at most twice:
 * - after a temporary refusal;
 * - after an ambiguous outcome, because a duplicate confirmation, invite or reset is better than none. A test mail is
 *   INTERRUPTED instead: it is sent at most once.
 *
 * If recovery released the claim, a late outcome of the worker is still recorded, unless another worker has claimed the
 * mail. An INTERRUPTED mail has no job anymore, so it becomes FAILED instead of PENDING.
 */
export async function recordMailOutcome(ctx: Ctx, mail: Mail, outcome: MailOutcome): Promise<'done' | 'retry'> {
  const status = decideStatus(mail, outcome)
  const error = outcome.kind === 'sent' ? null : outcome.error
  const now = new Date().toISOString()
  const isInterrupted = sql`${mails.status} = 'INTERRUPTED'`
  return inTransaction(ctx, async (ctx) => {
    const [updated] = await ctx.db
      .update(mails)
      .set({
        status: status === 'PENDING' ? sql`case when ${isInterrupted} then 'FAILED' else 'PENDING' end` : status,
        error,
        settledAt:
          status === 'PENDING'
            ? sql`case when ${isInterrupted} then ${now}::timestamptz end`
            : sql`${now}::timestamptz`,
      })
      .where(
        and(
          byId(mails, ctx, mail.id),
          inArray(mails.status, ['SENDING', 'INTERRUPTED', 'PENDING']),
          eq(mails.workerId, mail.workerId ?? ''),
        ),
      )
      .returning({ status: mails.status })
    if (updated?.status === 'PENDING') return 'retry'
    if (updated) await finishWork(ctx, [uuidOf(mail.id)])
    return 'done'
  })
}

function decideStatus(mail: Mail, outcome: MailOutcome): Mail['status'] {
  if (outcome.kind === 'sent') return 'SENT'
  const isRetryable = outcome.kind === 'refused' ? outcome.temporary : mail.kind !== 'CAMPAIGN_TEST'
  if (isRetryable && mail.attempts < maxMailAttempts) return 'PENDING'
  return outcome.kind === 'ambiguous' ? 'INTERRUPTED' : 'FAILED'
}
