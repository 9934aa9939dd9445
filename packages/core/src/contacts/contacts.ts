import { and, arrayContains, eq, exists, gt, inArray, lt, or, type SQLWrapper, sql } from 'drizzle-orm'
import { type Ctx, inTransaction } from '../context.ts'
import { AppError, conflict, notFound } from '../errors.ts'
import { emit } from '../events.ts'
import { toTimestamp, toTimestampOrNull } from '../fields.ts'
import { newId } from '../ids.ts'
import { type Page, readPage } from '../paging.ts'
import { contacts, subscriptions } from '../schema.ts'
import type { Contact, ContactInput, ContactQuery } from './contacts.schema.ts'

type ContactRow = typeof contacts.$inferSelect

/** Creates a contact and tells `contact.created`. An address that the workspace has already is a conflict naming whose. */
export function createContact(ctx: Ctx, input: ContactInput): Promise<Contact> {
  return inTransaction(ctx, async (ctx) => {
    checkCustomFieldValues(input.customFieldValues)
    const row = { ...input, customFieldValues: {}, workspaceId: ctx.workspaceId, id: newId('con') }
    const [created] = await ctx.db.insert(contacts).values(row).onConflictDoNothing().returning()
    if (!created) throw conflict('Contact already exists', { contactId: (await findByEmail(ctx, input.email)).id })
    const contact = toContact(created)
    await emit(ctx, 'contact.created', contact)
    return contact
  })
}

/** Reads one contact. */
export async function readContact(ctx: Ctx, id: string): Promise<Contact> {
  const [row] = await ctx.db
    .select()
    .from(contacts)
    .where(and(eq(contacts.workspaceId, ctx.workspaceId), eq(contacts.id, id)))
  if (!row) throw notFound('Contact')
  return toContact(row)
}

/** A page of the workspace's contacts; every filter that is given must hold. */
export async function listContacts(ctx: Ctx, query: ContactQuery): Promise<Page<Contact>> {
  const field = query.sort.replace('-', '') as 'createdAt' | 'updatedAt' | 'email'
  const page = await readPage<ContactRow>(ctx, {
    name: 'contacts',
    query,
    key:
      field === 'email'
        ? { column: sql`lower(${contacts.email})`, type: 'text', valueOf: (row) => row.email.toLowerCase() }
        : { column: contacts[field], type: 'timestamptz', valueOf: (row) => row[field].toISOString() },
    id: { column: contacts.id, valueOf: (row) => row.id },
    read: ({ after, orderBy, limit }) =>
      ctx.db
        .select()
        .from(contacts)
        .where(and(eq(contacts.workspaceId, ctx.workspaceId), ...filters(ctx, query), after))
        .orderBy(...orderBy)
        .limit(limit),
  })
  return { ...page, data: page.data.map(toContact) }
}

function filters(ctx: Ctx, query: ContactQuery) {
  return [
    query.email !== undefined ? sql`lower(${contacts.email}) = lower(${query.email})` : undefined,
    query.tag ? arrayContains(contacts.tags, query.tag) : undefined,
    query.emailSubscribedStatus ? eq(contacts.emailSubscribedStatus, query.emailSubscribedStatus) : undefined,
    query.source !== undefined ? eq(contacts.source, query.source) : undefined,
    query.createdAfter ? gt(contacts.createdAt, query.createdAfter) : undefined,
    query.createdBefore ? lt(contacts.createdAt, query.createdBefore) : undefined,
    query.updatedAfter ? gt(contacts.updatedAt, query.updatedAfter) : undefined,
    query.updatedBefore ? lt(contacts.updatedAt, query.updatedBefore) : undefined,
    query.listId
      ? exists(
          ctx.db
            .select({ one: sql`1` })
            .from(subscriptions)
            .where(
              and(
                eq(subscriptions.workspaceId, ctx.workspaceId),
                eq(subscriptions.listId, query.listId),
                eq(subscriptions.contactId, contacts.id),
              ),
            ),
        )
      : undefined,
  ]
}

/**
 * The contact of this address, made when there is none. A stranger's word: it fills what is empty in a known contact
 * and never overwrites.
 */
export async function findOrCreateContact(
  ctx: Ctx,
  input: { email: string; firstName: string; lastName: string; source: string },
): Promise<Contact> {
  const [created] = await ctx.db
    .insert(contacts)
    .values({ ...input, workspaceId: ctx.workspaceId, id: newId('con') })
    .onConflictDoNothing()
    .returning()
  if (created) {
    const contact = toContact(created)
    await emit(ctx, 'contact.created', contact)
    return contact
  }
  const fill = (column: SQLWrapper, given: string) =>
    sql<string>`case when ${column} = '' then ${given} else ${column} end`
  const isEmpty = (column: SQLWrapper, given: string) => sql`${column} = '' and ${given} <> ''`
  const { email, firstName, lastName } = input
  const [updated] = await ctx.db
    .update(contacts)
    .set({
      firstName: fill(contacts.firstName, firstName),
      lastName: fill(contacts.lastName, lastName),
      updatedAt: sql`now()`,
    })
    .where(and(hasEmail(ctx, email), or(isEmpty(contacts.firstName, firstName), isEmpty(contacts.lastName, lastName))))
    .returning()
  if (!updated) return toContact(await findByEmail(ctx, email))
  const contact = toContact(updated)
  await emit(ctx, 'contact.updated', contact)
  return contact
}

/**
 * Whoever changes subscriptions of a contact takes the contact first, until the transaction ends: so its status is never
 * derived from half of two changes, and two transactions never wait for each other.
 */
export async function lockContact(ctx: Ctx, id: string): Promise<void> {
  await ctx.db
    .select({ id: contacts.id })
    .from(contacts)
    .where(and(eq(contacts.workspaceId, ctx.workspaceId), eq(contacts.id, id)))
    .for('no key update')
}

/**
 * Derives `emailSubscribedStatus` from the contacts' subscriptions, the strictest word first, and moves
 * `lastActivityAt`. The one place that writes either; call it in the transaction that changed a subscription, after
 * `lockContact`.
 */
export async function noteSubscriptionChange(ctx: Ctx, contactIds: readonly string[]): Promise<void> {
  const status = sql`coalesce((
    select case
      when bool_or(s.status = 'COMPLAINED') then 'COMPLAINED'
      when bool_or(s.status = 'BOUNCED') then 'BOUNCED'
      when bool_or(s.status = 'CONFIRMED') then 'SUBSCRIBED'
      when bool_or(s.status = 'PENDING') then 'PENDING'
      when bool_or(s.status = 'UNSUBSCRIBED') then 'UNSUBSCRIBED'
    end
    from subscriptions s
    where s.workspace_id = ${contacts.workspaceId} and s.contact_id = ${contacts.id}), 'NONE')`
  await ctx.db
    .update(contacts)
    .set({ emailSubscribedStatus: status, lastActivityAt: sql`now()`, updatedAt: sql`now()` })
    .where(and(eq(contacts.workspaceId, ctx.workspaceId), inArray(contacts.id, [...contactIds])))
}

async function findByEmail(ctx: Ctx, email: string): Promise<ContactRow> {
  const [row] = await ctx.db.select().from(contacts).where(hasEmail(ctx, email))
  if (!row) throw new AppError('unavailable', 'The contact was just deleted: try again')
  return row
}

function hasEmail(ctx: Ctx, email: string) {
  return and(eq(contacts.workspaceId, ctx.workspaceId), sql`lower(${contacts.email}) = lower(${email})`)
}

/** A value needs a definition of its field, and a workspace has none until it defines one. */
function checkCustomFieldValues(values: Record<string, unknown>) {
  const issues = Object.keys(values).map((key) => ({
    path: `customFieldValues.${key}`,
    message: `Unknown custom field "${key}"`,
  }))
  const [first] = issues
  if (first) throw new AppError('invalid', `${first.path}: ${first.message}`, { issues })
}

function toContact(row: ContactRow): Contact {
  return {
    id: row.id,
    email: row.email,
    firstName: row.firstName,
    lastName: row.lastName,
    phone: row.phone,
    company: row.company,
    customFieldValues: row.customFieldValues,
    tags: row.tags,
    emailSubscribedStatus: row.emailSubscribedStatus,
    lastActivityAt: toTimestampOrNull(row.lastActivityAt),
    source: row.source,
    createdAt: toTimestamp(row.createdAt),
    updatedAt: toTimestamp(row.updatedAt),
  }
}
