/** Bulk reads and writes of contacts, each in one statement. */
import { and, eq, type SQL, sql } from 'drizzle-orm'
import { toSnakeCase } from 'drizzle-orm/casing'
import { jsonRows } from '../db/json-rows.ts'
import { readContactQuota } from '../quotas/contact-quota.ts'
import type { Ctx } from '../request/context.ts'
import { type ContactId, idOf, uuidOf } from '../kernel/ids.ts'
import { contacts } from '../db/schema/index.ts'
import { textPropertyNames } from './contact-properties.ts'
import {
  type CustomValues,
  customValuesTooLarge,
  exceedsCustomValueSize,
  maxCustomValueBytes,
} from '../custom-fields/custom-fields.ts'
import { findContactsByEmail } from './contact-address.ts'
import { contactColumns, type ContactRow, toContact } from './contact-record.ts'
import { maxTags, tooManyTags } from './update-contact.ts'
import type { Contact } from './contacts.schema.ts'
import { type CheckedContact, newContactRow } from './create-contact.ts'

export type OnConflict = 'skip' | 'update'

/**
 * Creates the contacts whose email the workspace does not have yet. With `update`, existing contacts are updated too:
 * non-empty properties are set, tags and custom values are added, and unchanged contacts are skipped. With `lock`,
 * existing contacts are locked until the transaction ends. Each email must occur only once in `inputs`. Emits no
 * events. `exceeding` has the emails of new contacts that would exceed the quota.
 */
export async function writeContacts(
  ctx: Ctx,
  inputs: readonly CheckedContact[],
  onConflict: OnConflict | 'lock',
): Promise<{ created: ContactRow[]; updatedIds: ContactId[]; exceeding: ReadonlySet<string> }> {
  if (inputs.length === 0) return { created: [], updatedIds: [], exceeding: new Set() }
  const quota = await readContactQuota(ctx)
  const emails = inputs.map(({ email }) => email)
  const exceeding = await findExceeding(ctx, emails, Math.max(0, quota.limit - quota.used))
  const candidates = inputs.filter(({ email }) => !exceeding.has(email)).map((input) => newContactRow(ctx, input))
  const result = await ctx.db.execute<{ id: string }>(sql`
    insert into contacts as c (${rows.names})
    select ${rows.names} from ${rows.from(sql`${rows.stringify(candidates)}`, 'p')}
    -- The lock order of all bulk writers; it prevents deadlocks.
    order by lower(email)
    on conflict (workspace_id, lower(email)) do ${conflictActions[onConflict]}
    returning c.id`)
  const writtenIds = new Set(result.rows.map((row) => row.id))
  const created = candidates.filter(({ id }) => writtenIds.has(uuidOf(id)))
  for (const { id } of created) writtenIds.delete(uuidOf(id))
  quota.used += created.length
  return { created, updatedIds: [...writtenIds].map((id) => idOf('con', id)), exceeding }
}

/** Existing contacts may always be written. */
async function findExceeding(ctx: Ctx, emails: readonly string[], left: number): Promise<Set<string>> {
  if (left >= emails.length) return new Set()
  const existing = new Set((await findContactsByEmail(ctx, emails)).map(({ email }) => email.toLowerCase()))
  return new Set(emails.filter((email) => !existing.has(email.toLowerCase())).slice(left))
}

/** Writes all columns of contacts that the transaction has locked. Emits no events. */
export async function saveContacts(ctx: Ctx, saved: readonly ContactRow[]): Promise<void> {
  if (saved.length === 0) return
  await ctx.db.execute(sql`
    update contacts c set ${rows.assignments('p')}
    from ${rows.from(sql`${rows.stringify(saved)}`, 'p')}
    where c.workspace_id = ${uuidOf(ctx.workspaceId)}::uuid and c.id = p.id`)
}

/** Dry run of `writeContacts`: counts the existing contacts and those that would be updated. */
export async function compareContacts(
  ctx: Ctx,
  inputs: readonly CheckedContact[],
): Promise<{ known: number; changed: number }> {
  if (inputs.length === 0) return { known: 0, changed: 0 }
  const result = await ctx.db.execute<{ known: number; changed: number }>(sql`
    select count(*)::int as known, (count(*) filter (where ${differsFromContact('p')}))::int as changed
    from ${rowsFrom(ctx, inputs)}
    join contacts c on c.workspace_id = ${uuidOf(ctx.workspaceId)}::uuid and lower(c.email) = lower(p.email)`)
  return result.rows[0] ?? { known: 0, changed: 0 }
}

/**
 * Finds contacts that would exceed the limit of tags or of custom field values, and returns the messages by lower-case
 * email.
 */
export async function findOverflow(ctx: Ctx, inputs: readonly CheckedContact[]): Promise<Map<string, string>> {
  const isAdding = ({ tags = [], customFieldValues }: CheckedContact) =>
    tags.length > 0 || Object.keys(customFieldValues).length > 0
  const adding = new Map(inputs.filter(isAdding).map((input) => [input.email.toLowerCase(), input]))
  if (adding.size === 0) return new Map()
  // As text, JSON of PostgreSQL is at least as long as JSON of JavaScript, which counts.
  const { rows } = await ctx.db.execute<{
    email: string
    hasTooManyTags: boolean | null
    values: CustomValues | null
  }>(sql`
    select email, has_too_many_tags as "hasTooManyTags", current as values
    from (
      select lower(p.email) as email, c.custom_field_values as current,
        cardinality(c.tags) + cardinality(p.tags) > ${maxTags}
          and cardinality(c.tags || ${newTags('p')}) > ${maxTags} as has_too_many_tags,
        octet_length((coalesce(c.custom_field_values, '{}') || p.custom_field_values)::text)
          > ${maxCustomValueBytes} as may_be_too_large
      from ${rowsFrom(ctx, [...adding.values()])}
      left join contacts c on c.workspace_id = ${uuidOf(ctx.workspaceId)}::uuid and lower(c.email) = lower(p.email)) compared
    where has_too_many_tags or may_be_too_large`)
  const overflow = new Map<string, string>()
  for (const { email, hasTooManyTags, values } of rows) {
    const current = values ?? undefined
    const next = { ...current, ...adding.get(email)?.customFieldValues }
    if (hasTooManyTags) overflow.set(email, tooManyTags)
    else if (exceedsCustomValueSize(next, current)) overflow.set(email, customValuesTooLarge)
  }
  return overflow
}

/** Reads contacts by id, in order of creation. */
export async function readContacts(ctx: Ctx, ids: readonly ContactId[]): Promise<Contact[]> {
  const rows = await ctx.db
    .select(contactColumns)
    .from(contacts)
    .where(
      and(eq(contacts.workspaceId, ctx.workspaceId), sql`${contacts.id} = any(${sql.param(ids.map(uuidOf))}::uuid[])`),
    )
    .orderBy(contacts.id)
  return rows.map(toContact)
}

/** Locks contacts by email until the transaction ends, in the lock order of all bulk writers. */
export async function lockContactsByEmail(
  ctx: Ctx,
  emails: readonly string[],
): Promise<Pick<Contact, 'id' | 'email'>[]> {
  const lowerCase = emails.map((email) => email.toLowerCase())
  return ctx.db
    .select({ id: contacts.id, email: contacts.email })
    .from(contacts)
    .where(
      and(
        eq(contacts.workspaceId, ctx.workspaceId),
        sql`lower(${contacts.email}) = any(${sql.param(lowerCase)}::text[])`,
      ),
    )
    .orderBy(sql`lower(${contacts.email})`)
    .for('no key update')
}

const rows = jsonRows(contacts)

/** The rows that the inputs would create, as a table `p`. */
function rowsFrom(ctx: Ctx, inputs: readonly CheckedContact[]): SQL {
  return rows.from(sql`${rows.stringify(inputs.map((input) => newContactRow(ctx, input)))}`, 'p')
}

/** The tags of the row that the contact does not have yet, in order. */
const newTags = (row: 'excluded' | 'p') => sql`array(
  select tag from unnest(${sql.raw(row)}.tags) with ordinality as tags (tag, position)
  where tag <> all (c.tags) order by position)`

const propertyColumns = [...textPropertyNames, 'source'].map(toSnakeCase)

/** Whether a row would change the contact `c`. */
const differsFromContact = (row: 'excluded' | 'p') => {
  const differs = propertyColumns.map((name) =>
    sql.raw(`(${row}.${name} <> '' and ${row}.${name} is distinct from c.${name})`),
  )
  return sql`(${sql.join(differs, sql` or `)}
    or not c.tags @> ${sql.raw(row)}.tags or not c.custom_field_values @> ${sql.raw(row)}.custom_field_values)`
}

const updateClause = sql`update set
  ${sql.raw(propertyColumns.map((name) => `${name} = coalesce(nullif(excluded.${name}, ''), c.${name})`).join(', '))},
  tags = c.tags || ${newTags('excluded')},
  custom_field_values = c.custom_field_values || excluded.custom_field_values,
  updated_at = greatest(c.updated_at, excluded.updated_at)
  where ${differsFromContact('excluded')}`

const conflictActions = {
  skip: sql`nothing`,
  update: updateClause,
  // A row that the condition excludes is locked all the same.
  lock: sql`update set updated_at = c.updated_at where false`,
}
