import { and, eq, gt, inArray, sql } from 'drizzle-orm'
import { byId } from '../request/by-id.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import type { Db } from '../db/client.ts'
import { AppError } from '../kernel/errors.ts'
import { idOf, newId, uuidOf } from '../kernel/ids.ts'
import { enqueue, finishWork } from '../jobs/outbox.ts'
import { type MailData, type mailKinds, mails } from '../db/schema/index.ts'

export type MailKind = (typeof mailKinds)[number]
export type Mail = typeof mails.$inferSelect

/** How often a mail is tried, whatever ended the tries before. */
export const maxMailAttempts = 3

/** Asks for a single mail, in the caller's transaction. `data` names what the kind's template needs, by ids. */
export async function enqueueMail(ctx: Ctx, mail: { kind: MailKind; to: string; data: MailData }): Promise<void> {
  const id = newId('mai')
  await ctx.db
    .insert(mails)
    .values({ workspaceId: ctx.workspaceId, id, kind: mail.kind, toAddress: mail.to, data: mail.data })
  await enqueue(ctx, 'mail', id)
}

/**
 * Spares an address: throws `throttled` when the workspace asked for an invite to it within ten minutes, or for three
 * within a day, and also when the invite is gone since. Who asks at the same time is to wait for a lock that both take.
 */
export async function throttleInvites(ctx: Ctx, address: string): Promise<void> {
  const at = mails.createdAt
  const isRecent = and(
    eq(mails.workspaceId, ctx.workspaceId),
    eq(mails.kind, 'INVITE'),
    sql`lower(${mails.toAddress}) = lower(${address})`,
    gt(at, sql`now() - interval '1 day'`),
  )
  const allowedAt = sql`greatest(max(${at}) + interval '10 minutes', (array_agg(${at} order by ${at} desc))[3] + interval '1 day')`
  const [wait] = await ctx.db
    .select({ seconds: sql<number | null>`ceil(extract(epoch from ${allowedAt} - now()))::int` })
    .from(mails)
    .where(isRecent)
  const retryAfterSeconds = wait?.seconds ?? 0
  if (retryAfterSeconds > 0) throw new AppError('throttled', 'They were asked a moment ago', { retryAfterSeconds })
}

/** Takes a mail in hand: whoever gets it sends it, everyone else gets undefined and does nothing. */
export async function claimMail(ctx: Ctx, uuid: string, workerId: string): Promise<Mail | undefined> {
  const [mail] = await ctx.db
    .update(mails)
    .set({ status: 'SENDING', workerId, attempts: sql`${mails.attempts} + 1` })
    .where(and(byId(mails, ctx, idOf('mai', uuid)), eq(mails.status, 'PENDING')))
    .returning()
  return mail
}

/** Takes a claim back that was surely not acted upon, as its answer never came. */
export async function releaseMail(ctx: Ctx, uuid: string, workerId: string): Promise<void> {
  await ctx.db
    .update(mails)
    .set({ status: 'PENDING', workerId: null, attempts: sql`${mails.attempts} - 1` })
    .where(and(byId(mails, ctx, idOf('mai', uuid)), eq(mails.status, 'SENDING'), eq(mails.workerId, workerId)))
}

/** Forgets mails that were settled more than thirty days ago, a few at a time. Answers how many. */
export async function purgeMails(db: Db): Promise<number> {
  const result = await db.execute(sql`
    delete from mails where (workspace_id, id) in (
      select workspace_id, id from mails
      where created_at < now() - interval '30 days' and settled_at < now() - interval '30 days' limit 1000)`)
  return result.rowCount ?? 0
}

/**
 * The outcome of an SMTP attempt. Ambiguous: the connection failed before the response, so the server may have accepted
 * the mail. `affectsAll`: any other mail would be refused as well (no connection, login or sender refused, rendering failed).
 */
export type MailOutcome =
  | { kind: 'sent' }
  | { kind: 'refused'; temporary: boolean; error: string; affectsAll?: boolean }
  | { kind: 'ambiguous'; error: string }

/**
 * Records the outcome. `retry`: it waits again, as it is sure or harmless to send once more; three attempts at most.
 * A test copy goes out at most once, so one whose fate is unknown is INTERRUPTED; anything else is better had twice.
 * A late truth, of a worker that was taken for dead, still counts unless another worker has the mail by now; only to
 * wait again is no longer open to it once the work was ended as INTERRUPTED.
 */
export async function recordMailOutcome(ctx: Ctx, mail: Mail, outcome: MailOutcome): Promise<'done' | 'retry'> {
  const status = decideStatus(mail, outcome)
  const error = outcome.kind === 'sent' ? null : outcome.error
  return inTransaction(ctx, async ({ db }) => {
    const [updated] = await db
      .update(mails)
      .set({
        status:
          status === 'PENDING' ? sql`case ${mails.status} when 'INTERRUPTED' then 'FAILED' else 'PENDING' end` : status,
        error,
        settledAt: status === 'PENDING' ? sql`case ${mails.status} when 'INTERRUPTED' then now() end` : sql`now()`,
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
    if (updated) await finishWork(db, [uuidOf(mail.id)])
    return 'done'
  })
}

function decideStatus(mail: Mail, outcome: MailOutcome): Mail['status'] {
  if (outcome.kind === 'sent') return 'SENT'
  const isRetryable = outcome.kind === 'refused' ? outcome.temporary : mail.kind !== 'CAMPAIGN_TEST'
  if (isRetryable && mail.attempts < maxMailAttempts) return 'PENDING'
  return outcome.kind === 'ambiguous' ? 'INTERRUPTED' : 'FAILED'
}
