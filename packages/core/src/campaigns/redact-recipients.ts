import { and, eq, inArray, isNotNull } from 'drizzle-orm'
import { campaignRecipients } from '../db/schema/index.ts'
import { redactedText, type StepResult } from '../kernel/erase-step.ts'
import type { ContactId } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'

/**
 * Redacts the errors of a deleted contact as a recipient of campaigns. Waits for emails that are being sent, because
 * their outcome is recorded later.
 */
export async function redactRecipients(ctx: Ctx, contactIds: readonly ContactId[]): Promise<StepResult> {
  const isOwn = and(
    eq(campaignRecipients.workspaceId, ctx.workspaceId),
    inArray(campaignRecipients.contactId, [...contactIds]),
  )
  const sending = await ctx.db.$count(campaignRecipients, and(isOwn, eq(campaignRecipients.status, 'SENDING')))
  if (sending > 0) return { shouldRetry: true }
  // The error of a SKIPPED recipient is a text of ours.
  const hasError = and(
    inArray(campaignRecipients.status, ['WAITING', 'FAILED', 'INTERRUPTED']),
    isNotNull(campaignRecipients.error),
  )
  await ctx.db.update(campaignRecipients).set({ error: redactedText }).where(and(isOwn, hasError))
  return {}
}
