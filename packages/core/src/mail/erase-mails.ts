import { and, eq, gt, inArray, lte, sql } from 'drizzle-orm'
import { contacts, mails } from '../db/schema/index.ts'
import { finishWork } from '../jobs/outbox.ts'
import type { ErasedPerson, StepResult } from '../kernel/erased-person.ts'
import { type ContactId, idOf, uuidOf } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'

const batchSize = 500

/**
 * Deletes the next confirmations and test emails to the person, also PENDING ones. Keeps the confirmations of a new
 * contact with the same address. Emails of accounts remain: a member of the team may have the same address.
 */
export async function eraseMails(ctx: Ctx, person: ErasedPerson, after: string): Promise<StepResult> {
  const rows = await ctx.db
    .select({ id: mails.id, kind: mails.kind, data: mails.data })
    .from(mails)
    .where(
      and(
        eq(mails.workspaceId, ctx.workspaceId),
        sql`lower(${mails.toAddress}) = any(${sql.param([...person.emails])}::text[])`,
        inArray(mails.kind, ['CONFIRMATION', 'CAMPAIGN_TEST']),
        lte(mails.createdAt, person.deletedAt),
        after === '' ? undefined : gt(mails.id, idOf('mai', after)),
      ),
    )
    .orderBy(mails.id)
    .limit(batchSize)
  const confirmed = rows.flatMap(({ kind, data }) => (kind === 'CONFIRMATION' ? (data.contactId ?? []) : []))
  const present = await findPresentContacts(ctx, confirmed)
  const ids = rows.flatMap(({ id, kind, data: { contactId } }) =>
    kind === 'CONFIRMATION' && contactId && present.has(contactId) ? [] : id,
  )
  if (ids.length > 0) {
    await ctx.db.delete(mails).where(and(eq(mails.workspaceId, ctx.workspaceId), inArray(mails.id, ids)))
    await finishWork(ctx, ids.map(uuidOf))
  }
  const last = rows.length === batchSize ? rows.at(-1) : undefined
  return { after: last && uuidOf(last.id) }
}

async function findPresentContacts(ctx: Ctx, ids: readonly ContactId[]): Promise<Set<ContactId>> {
  if (ids.length === 0) return new Set()
  const rows = await ctx.db
    .select({ id: contacts.id })
    .from(contacts)
    .where(and(eq(contacts.workspaceId, ctx.workspaceId), inArray(contacts.id, [...new Set(ids)])))
  return new Set(rows.map(({ id }) => id))
}
