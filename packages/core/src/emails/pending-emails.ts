/** Emails that wait. */
import { and, eq, inArray } from 'drizzle-orm'
import { emails, templates } from '../db/schema/index.ts'
import { type EmailId, type TemplateId, uuidOf } from '../kernel/ids.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
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
