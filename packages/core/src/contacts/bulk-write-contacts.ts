/** Contacts by the thousand, each step one statement. */
import { and, eq, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../request/context.ts'
import { idOf, uuidOf } from '../kernel/ids.ts'
import { contacts } from '../db/schema/index.ts'
import { contactColumns, toContact } from './contact-record.ts'
import { maxTags } from './update-contact.ts'
import type { Contact } from './contacts.schema.ts'
import type { CustomValues } from './custom-fields/custom-fields.ts'

/** A checked person from a file. Null, no tags and no custom values say nothing: they set nothing. */
export interface BulkContact {
  email: string
  firstName: string | null
  lastName: string | null
  phone: string | null
  company: string | null
  source: string | null
  tags: string[]
  customFieldValues: CustomValues
}

export type OnConflict = 'skip' | 'update'

/**
 * Creates those of the people whom the workspace does not have. With `update`, the others are given what their row says
 * and they have not: properties are set, tags and custom values added; a row that changes nothing writes nothing. Each
 * address at most once in `people`. Tells no event.
 */
export async function writeContacts(
  ctx: Ctx,
  people: readonly BulkContact[],
  onConflict: OnConflict,
): Promise<{ createdIds: string[]; updated: number }> {
  if (people.length === 0) return { createdIds: [], updated: 0 }
  const result = await ctx.db.execute<{ id: string; is_new: boolean }>(sql`
    insert into contacts as c
      (workspace_id, id, email, first_name, last_name, phone, company, source, tags, custom_field_values)
    select ${uuidOf(ctx.workspaceId)}::uuid, id, email, coalesce(first_name, ''), coalesce(last_name, ''), phone, company,
      source, tags, custom_field_values
    -- Ids in the order of the file; locks in the order of addresses, so that no two writers wait for each other.
    from (select uuidv7() as id, p.* from ${rowsOf(people)}) people
    order by lower(email)
    on conflict (workspace_id, lower(email)) do ${onConflict === 'skip' ? sql`nothing` : update}
    returning new.id, old.id is null as is_new`)
  const created = result.rows.filter((row) => row.is_new)
  return { createdIds: created.map((row) => idOf('con', row.id)), updated: result.rows.length - created.length }
}

/** What `writeContacts` would find: how many are known, and how many of those an update would change. Writes nothing. */
export async function compareContacts(
  ctx: Ctx,
  people: readonly BulkContact[],
): Promise<{ known: number; changed: number }> {
  if (people.length === 0) return { known: 0, changed: 0 }
  const result = await ctx.db.execute<{ known: number; changed: number }>(sql`
    select count(*)::int as known, (count(*) filter (where ${changes('p')}))::int as changed
    from ${rowsOf(people)}
    join contacts c on c.workspace_id = ${uuidOf(ctx.workspaceId)}::uuid and lower(c.email) = lower(p.email)`)
  return result.rows[0] ?? { known: 0, changed: 0 }
}

/** Whose known contact would have more tags than a contact may have: their addresses, in lower case. */
export async function findTagOverflow(ctx: Ctx, people: readonly BulkContact[]): Promise<Set<string>> {
  const tagged = people.filter((person) => person.tags.length > 0)
  if (tagged.length === 0) return new Set()
  const result = await ctx.db.execute<{ email: string }>(sql`
    select lower(c.email) as email
    from ${rowsOf(tagged)}
    join contacts c on c.workspace_id = ${uuidOf(ctx.workspaceId)}::uuid and lower(c.email) = lower(p.email)
    where cardinality(c.tags) + cardinality(p.tags) > ${maxTags} and cardinality(c.tags || ${newTags('p')}) > ${maxTags}`)
  return new Set(result.rows.map((row) => row.email))
}

/** These contacts as the API shows them, in the order in which they were created. */
export async function readContacts(ctx: Ctx, ids: readonly string[]): Promise<Contact[]> {
  const rows = await ctx.db
    .select(contactColumns)
    .from(contacts)
    .where(
      and(eq(contacts.workspaceId, ctx.workspaceId), sql`${contacts.id} = any(${sql.param(ids.map(uuidOf))}::uuid[])`),
    )
    .orderBy(contacts.id)
  return rows.map(toContact)
}

/** Locks the contacts of these addresses, in the order of addresses like all who lock many, until the transaction ends. */
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

/** The people as a table `p`. */
function rowsOf(people: readonly BulkContact[]): SQL {
  const rows = people.map((person) => ({
    email: person.email,
    first_name: person.firstName,
    last_name: person.lastName,
    phone: person.phone,
    company: person.company,
    source: person.source,
    tags: person.tags,
    custom_field_values: person.customFieldValues,
  }))
  return sql`json_to_recordset(${JSON.stringify(rows)}::json) as p (email text, first_name text, last_name text, phone text,
    company text, source text, tags text[], custom_field_values jsonb)`
}

/** The tags of the row that the contact does not have, in their order. */
const newTags = (row: 'excluded' | 'p') => sql`array(
  select tag from unnest(${sql.raw(row)}.tags) with ordinality as given (tag, place)
  where tag <> all (c.tags) order by place)`

/** Whether a row says anything that the contact `c` has not. */
const changes = (row: 'excluded' | 'p') => {
  const said = (column: string) => sql.raw(`(${row}.${column} <> '' and ${row}.${column} is distinct from c.${column})`)
  return sql`(${sql.join(['first_name', 'last_name', 'phone', 'company', 'source'].map(said), sql` or `)}
    or not c.tags @> ${sql.raw(row)}.tags or not c.custom_field_values @> ${sql.raw(row)}.custom_field_values)`
}

const update = sql`update set
  first_name = coalesce(nullif(excluded.first_name, ''), c.first_name),
  last_name = coalesce(nullif(excluded.last_name, ''), c.last_name),
  phone = coalesce(excluded.phone, c.phone),
  company = coalesce(excluded.company, c.company),
  source = coalesce(excluded.source, c.source),
  tags = c.tags || ${newTags('excluded')},
  custom_field_values = c.custom_field_values || excluded.custom_field_values,
  updated_at = now()
  where ${changes('excluded')}`
