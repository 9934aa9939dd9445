/**
 * Whether an email that a person's request, account or order causes may go to an address: the counterpart of
 * `isMailable`, for `POST /emails`, the claim of an email, and the question before an email that waited. An opt-out from
 * newsletters does not stop it, as it carries no advertising. A bounce, a complaint and a block do: MANUAL is what a
 * workspace records for a person who wants no email at all.
 */
import { and, desc, eq, inArray } from 'drizzle-orm'
import { conflict } from '../kernel/errors.ts'
import type { Ctx } from '../request/context.ts'
import { type AddressedContact, readSuppressions } from '../consent/consent-records.ts'
import { subscriptions } from '../db/schema/index.ts'
import { byStrictness, type Reason, type SuppressionRow } from '../consent/suppression-rows.ts'

export type BlockingReason = Exclude<Reason, 'OPTED_OUT'>

const blocks = (row: SuppressionRow): row is SuppressionRow & { reason: BlockingReason } =>
  row.listId === null && row.reason !== 'OPTED_OUT'

/** Returns the strictest reason for which emails to the contact are stopped; undefined if there is none. */
export async function findEmailBlock(ctx: Ctx, { id, email }: AddressedContact): Promise<BlockingReason | undefined> {
  const [strictest] = byStrictness(await readSuppressions(ctx, { email })).filter(blocks)
  return strictest?.reason ?? (await findBlockedStatus(ctx, id))
}

/** What a subscription still says whose suppression is lost: with the SECRET_KEY, or in a backup without its key. */
async function findBlockedStatus(ctx: Ctx, id: AddressedContact['id']): Promise<BlockingReason | undefined> {
  const { workspaceId, contactId, status } = subscriptions
  const isBlocked = inArray(status, ['BOUNCED', 'COMPLAINED'])
  const [strictest] = await ctx.db
    .select({ status })
    .from(subscriptions)
    .where(and(eq(workspaceId, ctx.workspaceId), eq(contactId, id), isBlocked))
    .orderBy(desc(status))
    .limit(1)
  return strictest?.status as BlockingReason | undefined
}

export const describeBlock = (reason: BlockingReason) => `The address is suppressed (${reason})`

/** Throws `opted_out`, with the reason. */
export async function requireEmailable(ctx: Ctx, contact: AddressedContact): Promise<void> {
  const reason = await findEmailBlock(ctx, contact)
  if (reason === undefined) return
  const remedy = reason === 'COMPLAINED' ? 'only its owner can lift it' : 'an admin can lift the suppression'
  throw conflict('opted_out', `${describeBlock(reason)}: ${remedy}`, { reason })
}
