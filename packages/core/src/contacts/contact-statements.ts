/** What nearly every request about a contact asks of the database, prepared. */
import { and, eq, sql } from 'drizzle-orm'
import type { Db } from '../db.ts'
import { type Given, prepared } from '../prepared.ts'
import { contacts } from '../schema.ts'
import { contactColumns, type ContactRow } from './contact-record.ts'

const written = ['email', 'firstName', 'lastName', 'phone', 'company', 'customFieldValues', 'tags'] as const
const changeable = [...written, 'emailSubscribedStatus', 'source', 'createdAt'] as const
type Key = Record<'workspaceId' | 'id', string>

/** By its id. */
export const selectContact = prepared('read a contact', (db, given: Given<Key>) =>
  db.select(contactColumns).from(contacts).where(hasKey(given)),
)

/** By its id, and nobody else changes it until the transaction ends. */
export const selectAndLockContact = prepared('lock a contact', (db, given: Given<Key>) =>
  db.select(contactColumns).from(contacts).where(hasKey(given)).for('no key update'),
)

/** A new contact; no row when the address is taken. */
export const insertUnlessTaken = prepared('insert a contact', (db, given: Given<Inserted>) =>
  db
    .insert(contacts)
    .values(eachGiven(given, ['workspaceId', 'id', 'source', ...written]))
    .onConflictDoNothing()
    .returning(contactColumns),
)
type Inserted = Key & Omit<ContactRow, 'emailSubscribedStatus' | 'lastActivityAt' | 'createdAt' | 'updatedAt'>

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

/** What every event of a contact moves. Never back: who waited for the contact's lock began earlier than who had it. */
export const activityNow = { lastActivityAt: sql`greatest(${contacts.lastActivityAt}, now())`, updatedAt: sql`now()` }

/** `activityNow` of one contact, which is locked by it; its id, or no row. Also a member of other slices' statements. */
export function movingActivity(db: Db, given: Given<Key>) {
  return db.update(contacts).set(activityNow).where(hasKey(given)).returning({ id: contacts.id })
}
export const moveActivity = prepared('move a contact’s activity', movingActivity)

/** In a condition Drizzle does not see by itself that a placeholder takes the form of its column. */
function hasKey(given: Given<Key>) {
  const { workspaceId, id } = contacts
  return and(eq(workspaceId, sql.param(given('workspaceId'), workspaceId)), eq(id, sql.param(given('id'), id)))
}

/** Drizzle takes a placeholder for any column, though its type for SET does not say so. */
function eachGiven<Name extends string>(given: Given<Record<Name, unknown>>, names: readonly Name[]) {
  return Object.fromEntries(names.map((name) => [name, given(name)])) as Record<Name, never>
}
