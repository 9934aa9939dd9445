/**
 * External ids of merged contacts. They find the remaining contact, so that a product which knows the duplicate by its
 * own key does not create it again. No contact can get such a key.
 *
 * No constraint spans the two tables, so a writer that has set an external id asks `findExternalIdAliases` afterward, in
 * the same transaction. That suffices: a key becomes an alias in the transaction that deletes its contact, and the unique
 * index of `contacts` makes every other writer of the key wait for the end of that transaction.
 */
import { and, eq, inArray, type SQL, sql } from 'drizzle-orm'
import { z } from 'zod'
import { contacts, externalIdAliases } from '../../db/schema/index.ts'
import type { ContactId } from '../../kernel/ids.ts'
import type { Ctx } from '../../request/context.ts'
import type { Page } from '../../request/paging.ts'

export const FormerExternalId = z.string().meta({ examples: ['user_1815'] })

/** Finds the remaining contacts by the external ids of merged ones. */
export async function findExternalIdAliases(ctx: Ctx, externalIds: readonly string[]): Promise<Map<string, ContactId>> {
  if (externalIds.length === 0) return new Map()
  const aliases = await ctx.db
    .select({ externalId: externalIdAliases.externalId, contactId: externalIdAliases.contactId })
    .from(externalIdAliases)
    .where(isAmong(ctx, externalIds))
  return new Map(aliases.map(({ externalId, contactId }) => [externalId, contactId]))
}

/** Matches the contacts that have one of the external ids, themselves or by an alias. */
export function hasExternalId(ctx: Ctx, externalIds: readonly string[]): SQL {
  const remaining = ctx.db
    .select({ contactId: externalIdAliases.contactId })
    .from(externalIdAliases)
    .where(isAmong(ctx, externalIds))
  // As an array, so that the planner uses the primary key instead of testing every contact.
  return sql`(${contacts.externalId} = any(${sql.param(externalIds)}::text[]) or ${contacts.id} = any(array(${remaining})))`
}

/** Maps the external id of a duplicate to the contact into which it is merged. */
export async function addExternalIdAlias(ctx: Ctx, externalId: string, contactId: ContactId): Promise<void> {
  await ctx.db.insert(externalIdAliases).values({ workspaceId: ctx.workspaceId, externalId, contactId })
}

/** Maps the external ids that point to a merged contact to the remaining contact. */
export async function redirectExternalIds(ctx: Ctx, { from, to }: { from: ContactId; to: ContactId }): Promise<void> {
  await ctx.db.update(externalIdAliases).set({ contactId: to }).where(pointTo(ctx, from))
}

/** Deletes the external ids that point to a contact. */
export async function deleteExternalIdsOfContact(ctx: Ctx, contactId: ContactId): Promise<void> {
  await ctx.db.delete(externalIdAliases).where(pointTo(ctx, contactId))
}

/** Lists the external ids of all contacts that were merged into a contact, in one page. */
export async function listFormerExternalIds(ctx: Ctx, contactId: ContactId): Promise<Page<string>> {
  const aliases = await ctx.db
    .select({ externalId: externalIdAliases.externalId })
    .from(externalIdAliases)
    .where(pointTo(ctx, contactId))
    .orderBy(externalIdAliases.externalId)
  return { data: aliases.map(({ externalId }) => externalId), nextCursor: null }
}

function isAmong(ctx: Ctx, externalIds: readonly string[]) {
  return and(
    eq(externalIdAliases.workspaceId, ctx.workspaceId),
    inArray(externalIdAliases.externalId, [...externalIds]),
  )
}

function pointTo(ctx: Ctx, contactId: ContactId) {
  return and(eq(externalIdAliases.workspaceId, ctx.workspaceId), eq(externalIdAliases.contactId, contactId))
}
