/** Emails that wait. */
import { and, eq, inArray, sql } from 'drizzle-orm'
import { emails, templates } from '../db/schema/index.ts'
import { type ContactId, type EmailId, type TemplateId, uuidOf } from '../kernel/ids.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { finishWork } from '../work/enqueue.ts'
import { parkWork, requeueWork } from '../work/publish.ts'

/**
 * Parks the emails that wait for a template that becomes PAUSED, so that no other email waits behind them, and publishes
 * them once it becomes ACTIVE. Call it in the transaction that has locked the template, for the status that it gets.
 */
export async function holdEmails(
  ctx: Ctx,
  templateId: TemplateId,
  status: (typeof templates.$inferSelect)['status'],
): Promise<void> {
  const waiting = await ctx.db
    .select({ id: emails.id })
    .from(emails)
    .where(
      and(eq(emails.workspaceId, ctx.workspaceId), eq(emails.templateId, templateId), eq(emails.status, 'PENDING')),
    )
  const change = status === 'PAUSED' ? parkWork : requeueWork
  await change(
    ctx,
    waiting.map(({ id }) => uuidOf(id)),
  )
}

/**
 * Parks the emails that were accepted or delayed while their template became PAUSED. No one activates the template
 * meanwhile: it is locked.
 */
export function parkIfPaused(ctx: Ctx, ids: readonly EmailId[]): Promise<void> {
  return inTransaction(ctx, async (ctx) => {
    const isOfTemplate = and(eq(templates.workspaceId, emails.workspaceId), eq(templates.id, emails.templateId))
    const isPending = and(
      eq(emails.workspaceId, ctx.workspaceId),
      inArray(emails.id, [...ids]),
      eq(emails.status, 'PENDING'),
    )
    const paused = await ctx.db
      .select({ id: emails.id })
      .from(emails)
      .innerJoin(templates, isOfTemplate)
      .where(and(isPending, eq(templates.status, 'PAUSED')))
      .for('share', { of: templates })
    await parkWork(
      ctx,
      paused.map(({ id }) => uuidOf(id)),
    )
  })
}

/** Moves the emails of a merged contact to the remaining contact. The caller has locked both. */
export async function moveEmails(ctx: Ctx, { from, to }: { from: ContactId; to: ContactId }): Promise<void> {
  await ctx.db.update(emails).set({ contactId: to }).where(ofContact(ctx, from))
}

/**
 * Deletes the PENDING emails of a locked contact with their work: they are not sent. Ended ones keep their template and
 * status, without the contact.
 */
export async function forgetEmailsOfContact(ctx: Ctx, contactId: ContactId): Promise<void> {
  const isPending = and(ofContact(ctx, contactId), eq(emails.status, 'PENDING'))
  // The emails before their work, as in every transaction that ends one.
  const pending = await ctx.db.select({ id: emails.id }).from(emails).where(isPending).orderBy(emails.id).for('update')
  const ids = pending.map(({ id }) => id)
  if (ids.length > 0) {
    await ctx.db.delete(emails).where(and(eq(emails.workspaceId, ctx.workspaceId), inArray(emails.id, ids)))
    await finishWork(ctx, ids.map(uuidOf))
  }
  await ctx.db
    .update(emails)
    .set({ contactId: null, reason: null, tags: sql`'{}'::text[]` })
    .where(ofContact(ctx, contactId))
}

const ofContact = (ctx: Ctx, contactId: ContactId) =>
  and(eq(emails.workspaceId, ctx.workspaceId), eq(emails.contactId, contactId))
