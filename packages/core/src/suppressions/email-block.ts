/**
 * Whether an email that a person's request, account or order causes may go to an address: the counterpart of
 * `isMailable`, for `POST /emails`, the claim of an email, the question before an email that waited, and invites. An
 * opt-out from newsletters does not stop it, as it carries no advertising. A bounce, a complaint and a block do: MANUAL
 * is what a workspace records for a person who wants no email at all.
 */
import { sql } from 'drizzle-orm'
import type { AddressedContact } from '../consent/consent-records.ts'
import { hashEmails, hashEmailWithAllKeys } from '../consent/hash-email.ts'
import type { Reason } from '../consent/suppression-rows.ts'
import { givenIds } from '../db/given-ids.ts'
import { suppressionReasons, subscriptions, suppressions } from '../db/schema/index.ts'
import { namedStatement } from '../db/statements/named-statement.ts'
import { arrayOf, nullable, text, textOf } from '../db/statements/sql-types.ts'
import { type AppError, conflict } from '../kernel/errors.ts'
import type { ContactId } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'

export type BlockingReason = Exclude<Reason, 'OPTED_OUT'>
/** The strictest first. An opt-out stops no email. */
const blockingReasons = suppressionReasons.filter((reason) => reason !== 'OPTED_OUT')

/** Returns the strictest reason for which emails to each contact are stopped, if there is one. */
export async function findEmailBlocks(
  ctx: Ctx,
  contacts: readonly AddressedContact[],
): Promise<Map<ContactId, BlockingReason>> {
  const blocks = new Map<ContactId, BlockingReason>()
  if (contacts.length === 0) return blocks
  const hashes = [
    ...hashEmails(
      ctx,
      contacts.map(({ email }) => email),
    ).keys(),
  ]
  const contactIds = contacts.map(({ id }) => id)
  const found = await findBlocks(ctx.db, { workspaceId: ctx.workspaceId, hashes, contactIds })
  if (found.length === 0) return blocks
  for (const { id, email } of contacts) {
    const own = hashEmailWithAllKeys(ctx, email)
    const strictest = findStrictest(
      found.filter(({ emailHash, contactId }) => contactId === id || (emailHash !== null && own.includes(emailHash))),
    )
    if (strictest) blocks.set(id, strictest)
  }
  return blocks
}

/** The same for an address, which may be that of no contact. */
export async function findAddressBlock(ctx: Ctx, email: string): Promise<BlockingReason | undefined> {
  const hashes = hashEmailWithAllKeys(ctx, email)
  return findStrictest(await findBlocks(ctx.db, { workspaceId: ctx.workspaceId, hashes, contactIds: [] }))
}

const findStrictest = (found: readonly { reason: string }[]) =>
  blockingReasons.find((blocking) => found.some(({ reason }) => reason === blocking))

/**
 * Also what a subscription still says whose suppression is lost: with the SECRET_KEY, or in a backup without its key. Not
 * a bounce after a return by a link: see `restoreLostRows`.
 */
const findBlocks = namedStatement('find what stops emails', {
  isPrepared: true,
  params: {
    workspaceId: suppressions.workspaceId,
    hashes: arrayOf(text),
    contactIds: arrayOf(subscriptions.contactId),
  },
  columns: {
    emailHash: nullable(text),
    contactId: nullable(subscriptions.contactId),
    reason: textOf<(typeof suppressionReasons)[number]>(),
  },
  sql: ({ workspaceId, hashes, contactIds }) => sql`
    select s.email_hash, null::uuid as contact_id, s.reason
    from ${givenIds(hashes)} join suppressions s on s.email_hash = given.id
    where s.workspace_id = ${workspaceId} and s.list_id is null
    union all
    select null, s.contact_id, s.status
    from ${givenIds(contactIds)} join subscriptions s on s.contact_id = given.id
    where s.workspace_id = ${workspaceId} and s.status in ('BOUNCED', 'COMPLAINED')
      and (s.status <> 'BOUNCED' or not exists (
        select from subscriptions c
        where c.workspace_id = s.workspace_id and c.contact_id = s.contact_id and c.status = 'CONFIRMED'))`,
})

export const describeBlock = (reason: BlockingReason) => `The address is suppressed (${reason})`

/** The error for an email that is stopped. */
export function createBlockedError(reason: BlockingReason): AppError {
  const remedy = reason === 'COMPLAINED' ? 'only its owner can lift it' : 'an admin can lift the suppression'
  return conflict('opted_out', `${describeBlock(reason)}: ${remedy}`, { reason })
}

/** Throws if emails to an address are stopped, which may be that of no contact. */
export async function requireNotBlocked(ctx: Ctx, email: string): Promise<void> {
  const reason = await findAddressBlock(ctx, email)
  if (reason) throw createBlockedError(reason)
}
