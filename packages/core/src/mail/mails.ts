import { and, eq, inArray, sql } from 'drizzle-orm'
import { type Ctx, inTransaction } from '../context.ts'
import type { Db } from '../db.ts'
import { idOf, newId, uuidOf } from '../ids.ts'
import { enqueue, finishWork } from '../outbox.ts'
import { type mailKinds, mails } from '../schema.ts'

export type MailKind = (typeof mailKinds)[number]
export type Mail = typeof mails.$inferSelect

const maxAttempts = 3

/** Asks for a single mail, in the caller's transaction. `data` names what the kind's template needs, by ids. */
export async function enqueueMail(
  ctx: Ctx,
  mail: { kind: MailKind; to: string; data: Record<string, string | null> },
): Promise<void> {
  const id = newId('mai')
  await ctx.db
    .insert(mails)
    .values({ workspaceId: ctx.workspaceId, id, kind: mail.kind, toAddress: mail.to, data: mail.data })
  await enqueue(ctx, 'mail', id)
}

/** Takes a mail in hand: whoever gets it sends it, everyone else gets undefined and does nothing. */
export async function claimMail(ctx: Ctx, uuid: string, workerId: string): Promise<Mail | undefined> {
  const [mail] = await ctx.db
    .update(mails)
    .set({ status: 'SENDING', workerId, attempts: sql`${mails.attempts} + 1` })
    .where(and(matches(ctx, uuid), eq(mails.status, 'PENDING')))
    .returning()
  return mail
}

/** Takes a claim back that was surely not acted upon, as its answer never came. */
export async function undoMailClaim(ctx: Ctx, uuid: string, workerId: string): Promise<void> {
  await ctx.db
    .update(mails)
    .set({ status: 'PENDING', workerId: null, attempts: sql`${mails.attempts} - 1` })
    .where(and(matches(ctx, uuid), eq(mails.status, 'SENDING'), eq(mails.workerId, workerId)))
}

/** Forgets mails that were settled more than thirty days ago, a few at a time. Answers how many. */
export async function purgeMails(db: Db): Promise<number> {
  const result = await db.execute(sql`
    delete from mails where (workspace_id, id) in (
      select workspace_id, id from mails
      where created_at < now() - interval '30 days' and settled_at < now() - interval '30 days' limit 1000)`)
  return result.rowCount ?? 0
}

/** How handing a mail to the SMTP server ended. Ambiguous: it may have been taken, as no answer came back. */
export type MailOutcome =
  | { kind: 'sent' }
  | { kind: 'refused'; temporary: boolean; error: string }
  | { kind: 'ambiguous'; error: string }

/**
 * Records the outcome. `retry`: it waits again, as it is sure or harmless to send once more; three attempts at most.
 * A test copy goes out at most once, so one whose fate is unknown is INTERRUPTED; anything else is better had twice.
 */
export async function settleMail(ctx: Ctx, mail: Mail, outcome: MailOutcome): Promise<'done' | 'retry'> {
  const mayRepeat = outcome.kind === 'refused' ? outcome.temporary : mail.kind !== 'CAMPAIGN_TEST'
  const status =
    outcome.kind === 'sent'
      ? 'SENT'
      : mayRepeat && mail.attempts < maxAttempts
        ? 'PENDING'
        : outcome.kind === 'ambiguous'
          ? 'INTERRUPTED'
          : 'FAILED'
  const error = outcome.kind === 'sent' ? null : outcome.error
  await inTransaction(ctx, async ({ db }) => {
    await db
      .update(mails)
      .set({ status, error, settledAt: status === 'PENDING' ? null : sql`now()` })
      .where(
        and(
          matches(ctx, uuidOf(mail.id)),
          inArray(mails.status, ['SENDING', 'INTERRUPTED']),
          eq(mails.workerId, mail.workerId ?? ''),
        ),
      )
    if (status !== 'PENDING') await finishWork(db, [uuidOf(mail.id)])
  })
  return status === 'PENDING' ? 'retry' : 'done'
}

function matches(ctx: Ctx, uuid: string) {
  return and(eq(mails.workspaceId, ctx.workspaceId), eq(mails.id, idOf('mai', uuid)))
}
