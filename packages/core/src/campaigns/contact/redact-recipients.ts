import { and, eq, gt, inArray, isNotNull, sql } from 'drizzle-orm'
import { campaignRecipients, campaigns } from '../../db/schema/index.ts'
import {
  type ErasedPerson,
  isNamedIn,
  likePatterns,
  redactedText,
  type StepResult,
} from '../../kernel/erased-person.ts'
import { type CampaignId, idOf, uuidOf } from '../../kernel/ids.ts'
import type { Ctx } from '../../request/context.ts'

const campaignsPerStep = 50

/**
 * Redacts what mail servers responded about the person, in the next campaigns. A refusal of a group of recipients was
 * recorded for each of them, and as the reason of a pause, so the batches of the person are searched for the addresses.
 */
export async function redactRecipients(ctx: Ctx, person: ErasedPerson, after: string): Promise<StepResult> {
  const passed = await ctx.db
    .select({ id: campaigns.id, pauseReason: campaigns.pauseReason })
    .from(campaigns)
    .where(
      and(eq(campaigns.workspaceId, ctx.workspaceId), after === '' ? undefined : gt(campaigns.id, idOf('cmp', after))),
    )
    .orderBy(campaigns.id)
    .limit(campaignsPerStep)
  const campaignIds = passed.map(({ id }) => id)
  if (await redactOwnErrors(ctx, person, campaignIds)) return { isWaiting: true }
  for (const { id, pauseReason } of passed) {
    if (pauseReason === null || !isNamedIn(person, pauseReason)) continue
    await ctx.db
      .update(campaigns)
      .set({ pauseReason: redactedText })
      .where(and(eq(campaigns.workspaceId, ctx.workspaceId), eq(campaigns.id, id), isNotNull(campaigns.pauseReason)))
  }
  const last = passed.length === campaignsPerStep ? passed.at(-1) : undefined
  return { after: last && uuidOf(last.id) }
}

/** Returns whether an email to the person is being sent: its outcome is not recorded yet. */
async function redactOwnErrors(ctx: Ctx, person: ErasedPerson, campaignIds: readonly CampaignId[]): Promise<boolean> {
  const own = await ctx.db
    .select({
      batchId: campaignRecipients.batchId,
      status: campaignRecipients.status,
    })
    .from(campaignRecipients)
    .where(
      and(
        eq(campaignRecipients.workspaceId, ctx.workspaceId),
        inArray(campaignRecipients.campaignId, [...campaignIds]),
        inArray(campaignRecipients.contactId, [...person.contactIds]),
      ),
    )
  if (own.some(({ status }) => status === 'SENDING')) return true
  if (own.length === 0) return false
  const batchIds = [...new Set(own.map(({ batchId }) => batchId))]
  const isOwn = sql`${inArray(campaignRecipients.contactId, [...person.contactIds])}`
  const isNamed = sql`lower(${campaignRecipients.error}) like any(${sql.param(likePatterns(person))}::text[])`
  const hasError = and(
    eq(campaignRecipients.workspaceId, ctx.workspaceId),
    inArray(campaignRecipients.batchId, batchIds),
    // The error of a SKIPPED recipient is a text of ours.
    inArray(campaignRecipients.status, ['WAITING', 'FAILED', 'INTERRUPTED']),
    isNotNull(campaignRecipients.error),
  )
  const found = await ctx.db
    .select({ contactId: campaignRecipients.contactId, error: campaignRecipients.error, isOwn: sql<boolean>`${isOwn}` })
    .from(campaignRecipients)
    .where(and(hasError, sql`(${isOwn} or ${isNamed})`))
  const redacted = found.filter((row) => row.isOwn || isNamedIn(person, row.error)).map(({ contactId }) => contactId)
  if (redacted.length > 0)
    await ctx.db
      .update(campaignRecipients)
      .set({ error: redactedText })
      .where(and(hasError, inArray(campaignRecipients.contactId, redacted)))
  return false
}
