/** What nearly every request about a contact asks of the database, prepared. */
import { and, eq, type SQL, sql } from 'drizzle-orm'
import { endOfJson, tellEach } from '../events/emit.ts'
import { type Given, prepared, preparedSql } from '../db/prepared-query.ts'
import { activityNow, contacts } from '../db/schema/index.ts'
import { contactColumns, type ContactRow, readColumns, type ReadContact } from './contact-record.ts'

const changeable = [
  'email',
  'firstName',
  'lastName',
  'phone',
  'company',
  'customFieldValues',
  'tags',
  'emailSubscribedStatus',
  'source',
  'createdAt',
] as const
type Key = Record<'workspaceId' | 'id', string>

/** By its id, and nobody else changes it until the transaction ends. */
export const selectAndLockContact = prepared('lock a contact', (db, given: Given<Key>) =>
  db.select(contactColumns).from(contacts).where(hasKey(given)).for('no key update'),
)

/** By ids of any workspaces, for those who ask at the same time. Answers in any order. */
export const selectContacts = preparedSql<
  Record<'workspaceIds' | 'ids', string[]>,
  ReadContact & { workspaceId: string }
>(
  'read contacts',
  (given) => sql`
    select c.workspace_id as "workspaceId", ${readColumns}
    from unnest(${given('workspaceIds')}::uuid[], ${given('ids')}::uuid[]) as asked (workspace_id, id)
    join contacts c using (workspace_id, id)`,
)

/** A workspace's, the newest first. */
export const selectNewestContacts = preparedSql<{ workspaceId: string; limit: number }, ReadContact>(
  'list contacts',
  (given) => sql`
    select ${readColumns} from contacts c where c.workspace_id = ${given('workspaceId')}::uuid
    order by c.created_at desc, c.id desc limit ${given('limit')}`,
)

/** The same, from where a page ended. */
export const selectOlderContacts = preparedSql<
  { workspaceId: string; limit: number; key: string; uuid: string },
  ReadContact
>(
  'list older contacts',
  (given) => sql`
    select ${readColumns} from contacts c
    where c.workspace_id = ${given('workspaceId')}::uuid
      and (c.created_at, c.id) < (${given('key')}::timestamptz, ${given('uuid')}::uuid)
    order by c.created_at desc, c.id desc limit ${given('limit')}`,
)

/** By its address, in whatever case. */
export const selectContactByEmail = prepared(
  'find a contact by address',
  (db, given: Given<{ workspaceId: string; email: string }>) =>
    db
      .select(contactColumns)
      .from(contacts)
      .where(
        and(
          eq(contacts.workspaceId, sql.param(given('workspaceId'), contacts.workspaceId)),
          sql`lower(${contacts.email}) = lower(${given('email')})`,
        ),
      ),
)

/**
 * New contacts, and `contact.created` of each; no row for one whose address is taken. Written in the order of addresses,
 * as by all who write many, so that no two wait for each other. `rows` is JSON, with UUIDs for ids: what a contact is made
 * of, the `beginning` (see `beginningOfJson`) of what is told, and the request.
 */
export const insertAndTell = preparedSql<{ workspaceId: string; rows: string }, ReadContact>(
  'insert contacts',
  (given) => sql`
    -- Before all else, as every other writer: the upkeep of partitions takes the table before that of the events.
    with workspace as (
      select id from workspaces where id = ${given('workspaceId')}::uuid for key share),
    given as (
      select * from json_to_recordset(${given('rows')}::json) as given (id uuid, email text, "firstName" text,
        "lastName" text, phone text, company text, "customFieldValues" jsonb, tags text[], source text, beginning text,
        "requestId" text, traceparent text)),
    inserted as (
      insert into contacts as c (workspace_id, id, email, first_name, last_name, phone, company, custom_field_values,
        tags, source, created_at, updated_at)
      select workspace.id, given.id, email, "firstName", "lastName", phone, company, "customFieldValues",
        tags, source, now(), now()
      from workspace cross join given order by lower(email)
      on conflict do nothing
      returning ${readColumns}),
    told as (
      select uuidv7() as id, beginning || ${endOfJson} as data, inserted.id as contact_id, "requestId" as request_id,
        traceparent
      from inserted join given using (id)),
    ${tellEach(given('workspaceId'), 'contact.created')}
    select inserted.* from inserted left join notified on true`,
)

/** All of a contact anew, as of now. */
export const updateContact = prepared('change a contact', (db, given: Given<Key & Omit<ContactRow, 'updatedAt'>>) =>
  db
    .update(contacts)
    .set({
      ...eachGiven(given, changeable),
      // Null would be too much for the column's own way of writing a moment.
      lastActivityAt: sql`${given('lastActivityAt')}::timestamptz`,
      updatedAt: sql`now()`,
    })
    .where(hasKey(given))
    .returning(contactColumns),
)

/** `activityNow` of one contact, which is locked by it. */
export const updateLastActivity = prepared('move a contact’s activity', (db, given: Given<Key>) =>
  db.update(contacts).set(activityNow).where(hasKey(given)).returning({ id: contacts.id }),
)

/**
 * The same of many, as a member of other slices' statements: `ids` is a query for theirs. Answers the ids of those that
 * there are and that nobody else has in hand: it waits for nobody, so that the statement still knows what is so.
 */
export function movingActivities(workspaceId: SQL, ids: SQL): SQL {
  return sql`
    update contacts set last_activity_at = ${activityNow.lastActivityAt}, updated_at = ${activityNow.updatedAt}
    from (
      select c.id from (${ids}) asked (id)
      cross join lateral (
        select c.id from contacts c
        where c.workspace_id = ${workspaceId} and c.id = asked.id for no key update skip locked) c) held
    where contacts.workspace_id = ${workspaceId} and contacts.id = held.id
    returning contacts.id`
}

/** In a condition Drizzle does not see by itself that a placeholder takes the form of its column. */
function hasKey(given: Given<Key>) {
  const { workspaceId, id } = contacts
  return and(eq(workspaceId, sql.param(given('workspaceId'), workspaceId)), eq(id, sql.param(given('id'), id)))
}

/** Drizzle takes a placeholder for any column, though its type for SET does not say so. */
function eachGiven<Name extends string>(given: Given<Record<Name, unknown>>, names: readonly Name[]) {
  return Object.fromEntries(names.map((name) => [name, given(name)])) as Record<Name, never>
}
