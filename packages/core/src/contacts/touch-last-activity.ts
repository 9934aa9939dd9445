import { sql, type SQL } from 'drizzle-orm'
import { contacts } from '../db/schema/index.ts'
import { namedStatement } from '../db/statements/named-statement.ts'
import { arrayOf, timestamptz } from '../db/statements/sql-types.ts'
import type { Owner, OwnerParams } from '../events/insert-with-events.ts'
import { type ContactId, uuidOf } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import { lockContact } from './lock-contact.ts'
import { type Timestamp, timestampNow } from '../kernel/values/timestamps.ts'

/**
 * Moves `lastActivityAt` of a contact forward, in the transaction that records the activity, and locks it like
 * `lockContact`. Returns whether the contact exists.
 */
export async function touchLastActivity(ctx: Ctx, contactId: ContactId, at = timestampNow()): Promise<boolean> {
  return (await touchContact(ctx.db, { workspaceId: ctx.workspaceId, contactId, activityAt: at })) > 0
}

/** Like `touchLastActivity`, for contacts that the transaction has locked. */
export async function touchLockedContacts(ctx: Ctx, ids: readonly ContactId[], at = timestampNow()): Promise<void> {
  if (ids.length > 0) await touchContacts(ctx.db, { workspaceId: ctx.workspaceId, ids, activityAt: at })
}

/** The assignments that move a contact `c` forward to the moment of an activity. */
const touchAssignments = (moment: SQL) =>
  sql`last_activity_at = greatest(c.last_activity_at, ${moment}), updated_at = greatest(c.updated_at, ${moment})`

const touchParams = { workspaceId: contacts.workspaceId, contactId: contacts.id, activityAt: timestamptz }

/** Moves a contact forward to the time of an activity. */
export const touchContactSql = ({
  workspaceId,
  contactId,
  activityAt,
}: Record<keyof typeof touchParams, SQL>): SQL => sql`
  update contacts c set ${touchAssignments(activityAt)} where c.workspace_id = ${workspaceId} and c.id = ${contactId}`

const touchContacts = namedStatement('touch contacts', {
  params: { workspaceId: contacts.workspaceId, ids: arrayOf(contacts.id), activityAt: timestamptz },
  sql: ({ workspaceId, ids, activityAt }) => sql`
    update contacts c set ${touchAssignments(activityAt)} where c.workspace_id = ${workspaceId} and c.id = any(${ids})`,
})

const touchContact = namedStatement('touch a contact', { isPrepared: true, params: touchParams, sql: touchContactSql })

/**
 * For `insertWithEvents`: the contact that a new record belongs to. The insert moves its `lastActivityAt` to the creation
 * time of the record.
 */
export const owningContact: Owner<{ contactId: ContactId; createdAt: Timestamp }> = {
  lock: async (ctx, { contactId }) => (await lockContact(ctx, contactId)) !== undefined,
  toParams: (rows) => ({
    ownerIds: rows.map(({ contactId }) => uuidOf(contactId)),
    moments: rows.map(({ createdAt }) => createdAt),
  }),
  ctes: touchOwners,
  isLocked: sql`contact_id in (select id from owner)`,
}

/**
 * Locks and moves the contacts that meet the condition. The limit is that of `givenIds`, for the same reason. A statement
 * that locks rows and joins them with a function or a sub-select does not run on a cluster (see docs/scaling.md), so each
 * contact is locked by a sub-select of its own.
 */
export function touchOwners({ workspaceId, ownerIds, moments }: OwnerParams, condition = sql`true`): SQL {
  return sql`
    latest as (
      select contact_id, max(moment) as moment
      from unnest(${ownerIds}, ${moments}) as activities (contact_id, moment)
      where ${condition}
      group by contact_id
      limit cardinality(${ownerIds})),
    locked as (
      select (
        select c.id from contacts c where c.workspace_id = ${workspaceId} and c.id = contact_id
        for no key update skip locked) as id
      from latest),
    owner as (
      update contacts c set ${touchAssignments(sql`moment`)}
      from locked join latest on latest.contact_id = locked.id
      where c.workspace_id = ${workspaceId} and c.id = locked.id
      returning c.id)`
}
