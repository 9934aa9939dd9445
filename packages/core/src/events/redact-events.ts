import { sql } from 'drizzle-orm'
import { events } from '../db/schema/index.ts'
import { namedStatement } from '../db/statements/named-statement.ts'
import { arrayOf, nullable, required, text, textOf } from '../db/statements/sql-types.ts'
import type { StepResult } from '../kernel/erase-step.ts'
import { type ContactId, type DealId, uuidOf } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import type { EmittedType } from './event-definition.ts'

const redacted = sql.raw(`('{"id":"' || coalesce(data ->> 'id', data ->> 'contactId') || '","redacted":true}')::json`)
const batchSize = 500
const deleted: EmittedType = 'contact.deleted'

/**
 * Redacts the next events of a deleted contact: `RedactedRecord` replaces their `data`. `contact.deleted` has only an
 * id. The JSON is a concatenation because Citus allows only immutable functions in an UPDATE; ids need no escaping.
 */
export async function redactEvents(ctx: Ctx, contactIds: readonly ContactId[]): Promise<StepResult> {
  // The ids come from a CTE, to prevent partition pruning: see `take-deliveries.ts`.
  const { rowCount } = await ctx.db.execute(sql`
    with found as materialized (
      select id from events
      where workspace_id = ${uuidOf(ctx.workspaceId)} and contact_id = any(${sql.param(contactIds.map(uuidOf))}::uuid[])
        and type <> ${deleted} and data ->> 'redacted' is null
      limit ${batchSize})
    update events e
    set data = ${redacted}
    where e.workspace_id = ${uuidOf(ctx.workspaceId)} and e.id = any(array(select id from found))`)
  return rowCount === batchSize ? { after: '' } : {}
}

/** Finds the oldest event in the timeline of a deleted contact, and the deals that its events name. */
export async function findErasedEvents(
  ctx: Ctx,
  contactIds: readonly ContactId[],
): Promise<{ firstId: string | null; dealIds: readonly DealId[] }> {
  const [found] = await selectErased(ctx.db, { workspaceId: ctx.workspaceId, contactIds })
  return { firstId: found?.firstId ?? null, dealIds: found?.dealIds ?? [] }
}

const selectErased = namedStatement('find the events of an erasure', {
  params: { workspaceId: events.workspaceId, contactIds: arrayOf(required(events.contactId)) },
  columns: { firstId: nullable(text), dealIds: nullable(arrayOf(textOf<DealId>())) },
  sql: ({ workspaceId, contactIds }) => sql`
    select min(id::text) as first_id,
      array_agg(distinct data ->> 'id') filter (where type like 'deal.%') as deal_ids
    from events where workspace_id = ${workspaceId} and contact_id = any(${contactIds})`,
})

interface DealEvents {
  dealIds: readonly DealId[]
  /** The contacts that have events of the deals in their timelines. */
  contactIds: readonly ContactId[]
}

/** Redacts the events of deals in the timelines of former contacts, and those that are in no timeline. */
export async function redactEventsOfDeals(ctx: Ctx, { dealIds, contactIds }: DealEvents): Promise<void> {
  await redactDealEvents(ctx.db, { workspaceId: ctx.workspaceId, dealIds, contactIds })
}

const redactDealEvents = namedStatement('redact the events of deals', {
  params: {
    workspaceId: events.workspaceId,
    dealIds: arrayOf(text),
    contactIds: arrayOf(required(events.contactId)),
  },
  sql: ({ workspaceId, dealIds, contactIds }) => sql`
    with found as materialized (
      select id from events
      where workspace_id = ${workspaceId} and contact_id = any(${contactIds}) and type like 'deal.%'
        and data ->> 'id' = any(${dealIds})
      union all
      select id from events
      where workspace_id = ${workspaceId} and contact_id is null and type like 'deal.%'
        and (data ->> 'id') = any(${dealIds}))
    update events e set data = ${redacted}
    where e.workspace_id = ${workspaceId} and e.id = any(array(select id from found)) and data ->> 'redacted' is null`,
})
