/**
 * Aliases map the ids of merged contacts to the remaining contact: links in older emails keep working, and the
 * remaining contact shows the events of all of them.
 */
import { and, eq, inArray, type SQL, sql } from 'drizzle-orm'
import type { AddressedContact } from '../consent/consent-records.ts'
import { givenIds } from '../db/given-ids.ts'
import { contactAliases, contacts } from '../db/schema/index.ts'
import { namedStatement } from '../db/statements/named-statement.ts'
import { arrayOf } from '../db/statements/sql-types.ts'
import { type ContactId, uuidOf } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import type { Page } from '../request/paging.ts'

/** Maps a merged contact's id, and all ids that already point to it, to another contact. */
export async function redirectAliases(ctx: Ctx, contacts: { from: ContactId; to: ContactId }): Promise<void> {
  await ctx.db.update(contactAliases).set({ contactId: contacts.to }).where(pointTo(ctx, contacts.from))
  await ctx.db
    .insert(contactAliases)
    .values({ workspaceId: ctx.workspaceId, id: contacts.from, contactId: contacts.to })
}

/** Deletes the aliases that point to a contact. */
export async function deleteAliasesOfContact(ctx: Ctx, contactId: ContactId): Promise<void> {
  await ctx.db.delete(contactAliases).where(pointTo(ctx, contactId))
}

/** Selects the `id` of a contact and of all contacts that were merged into it, also in several steps. */
export function selectMergedIds(ctx: Ctx, contactId: ContactId): SQL {
  return sql`
    select ${uuidOf(contactId)}::uuid as id
    union all select ${contactAliases.id} from ${contactAliases} where ${pointTo(ctx, contactId)}`
}

/** Returns the contact, or the one into which it was merged, with its present address; undefined if it is deleted. */
export async function findCurrentContact(ctx: Ctx, id: ContactId): Promise<AddressedContact | undefined> {
  return (await findCurrentContacts(ctx, [id])).get(id)
}

/** Like `findCurrentContact`, for several ids. Those of deleted contacts are absent. */
export async function findCurrentContacts(
  ctx: Ctx,
  ids: readonly ContactId[],
): Promise<Map<ContactId, AddressedContact>> {
  if (ids.length === 0) return new Map()
  const rows = await selectCurrent(ctx.db, { workspaceId: ctx.workspaceId, ids: [...new Set(ids)] })
  return new Map(rows.map(({ givenId, ...contact }) => [givenId, contact]))
}

// One condition on the id of the contact: with `or`, PostgreSQL reads all contacts of the workspace.
const selectCurrent = namedStatement('find current contacts', {
  params: { workspaceId: contacts.workspaceId, ids: arrayOf(contacts.id) },
  columns: { givenId: contacts.id, id: contacts.id, email: contacts.email },
  sql: ({ workspaceId, ids }) => sql`
    select given.id as given_id, c.id, c.email
    from ${givenIds(ids)}
    left join contact_aliases a on a.workspace_id = ${workspaceId} and a.id = given.id
    join contacts c on c.workspace_id = ${workspaceId} and c.id = coalesce(a.contact_id, given.id)`,
})

/** The ids of contacts and of all contacts that were merged into them, each with the id of the remaining contact. */
export async function findMergedIds(ctx: Ctx, contactIds: readonly ContactId[]): Promise<Map<ContactId, ContactId>> {
  const { id, contactId, workspaceId } = contactAliases
  const aliases = await ctx.db
    .select({ id, contactId })
    .from(contactAliases)
    .where(and(eq(workspaceId, ctx.workspaceId), inArray(contactId, [...contactIds])))
  return new Map([
    ...contactIds.map((id) => [id, id] as const),
    ...aliases.map(({ id, contactId }) => [id, contactId] as const),
  ])
}

/** Lists the ids of all contacts that were merged into a contact, in one page. */
export async function listFormerIds(ctx: Ctx, contactId: ContactId): Promise<Page<ContactId>> {
  const aliases = await ctx.db
    .select({ id: contactAliases.id })
    .from(contactAliases)
    .where(pointTo(ctx, contactId))
    .orderBy(contactAliases.id)
  return { data: aliases.map(({ id }) => id), nextCursor: null }
}

function pointTo(ctx: Ctx, contactId: ContactId) {
  return and(eq(contactAliases.workspaceId, ctx.workspaceId), eq(contactAliases.contactId, contactId))
}
