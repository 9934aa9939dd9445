import { sql } from 'drizzle-orm'
import { contacts } from '../db/schema/index.ts'
import { namedStatement } from '../db/statements/named-statement.ts'
import { arrayOf, timestamptz } from '../db/statements/sql-types.ts'
import type { ContactId } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'

/** A contact and the time of its activity. */
interface Activity {
  contactId: ContactId
  at: Date
}

/**
 * Moves `lastActivityAt` of contacts forward, in the transaction that records the activity, and locks them like
 * `lockContact`. With `skipLocked`, contacts that another transaction has locked are skipped. Returns the ids of the
 * updated contacts.
 */
async function touchLastActivities(
  ctx: Ctx,
  activities: readonly Activity[],
  { skipLocked = false }: { skipLocked?: boolean } = {},
): Promise<Set<ContactId>> {
  const touch = skipLocked ? touchUnlocked : touchAll
  const touched = await touch(ctx.db, {
    workspaceId: ctx.workspaceId,
    contactIds: activities.map(({ contactId }) => contactId),
    moments: activities.map(({ at }) => at),
  })
  return new Set(touched.map(({ id }) => id))
}

/** Moves `lastActivityAt` of one contact forward. Returns whether the contact exists. */
export async function touchLastActivity(ctx: Ctx, contactId: ContactId, at = new Date()): Promise<boolean> {
  const touched = await touchLastActivities(ctx, [{ contactId, at }])
  return touched.size > 0
}

/**
 * For `insertWithEvents`: the contact that a new record belongs to. Locking it moves its `lastActivityAt` to the
 * creation time of the record.
 */
export const owningContact = {
  keysOf: ({ contactId }: { contactId: ContactId }) => [contactId],
  lock: (ctx: Ctx, rows: readonly { contactId: ContactId; createdAt: Date }[], options: { skipLocked: boolean }) => {
    const activities = rows.map(({ contactId, createdAt }) => ({ contactId, at: createdAt }))
    return touchLastActivities(ctx, activities, options)
  },
}

const prepareTouch = (name: string, skipLocked: '' | 'skip locked') =>
  namedStatement(name, {
    isPrepared: true,
    params: { workspaceId: contacts.workspaceId, contactIds: arrayOf(contacts.id), moments: arrayOf(timestamptz) },
    columns: { id: contacts.id },
    sql: ({ workspaceId, contactIds, moments }) => sql`
      with latest as (
        select contact_id, max(moment) as moment
        from unnest(${contactIds}, ${moments}) as activities (contact_id, moment)
        group by contact_id),
      locked as (
        select c.id, moment from latest join contacts c on c.id = contact_id
        where c.workspace_id = ${workspaceId}
        -- The lock order of all writers; it prevents deadlocks.
        order by c.id for no key update of c ${sql.raw(skipLocked)})
      update contacts c
      set last_activity_at = greatest(c.last_activity_at, moment), updated_at = greatest(c.updated_at, moment)
      from locked where c.workspace_id = ${workspaceId} and c.id = locked.id
      returning c.id`,
  })
const touchAll = prepareTouch('touch contacts', '')
const touchUnlocked = prepareTouch('touch unlocked contacts', 'skip locked')
