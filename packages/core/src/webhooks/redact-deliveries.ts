/** Redacts what receivers responded to the deliveries of a person's events: a receiver may echo the request. */
import { sql } from 'drizzle-orm'
import {
  batchSizeFor,
  type ErasedPerson,
  isNamedIn,
  likePatterns,
  redactedText,
  type StepResult,
} from '../kernel/erased-person.ts'
import { uuidAt, uuidOf } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'

const uuidsOf = ({ contactIds }: ErasedPerson) => sql`${sql.param(contactIds.map(uuidOf))}::uuid[]`

/**
 * Waits until the requests that were taken before the events were redacted have ended: their outcome is recorded later.
 * `after` lists these deliveries.
 */
export async function waitForRequests(ctx: Ctx, person: ErasedPerson, after: string): Promise<StepResult> {
  const known = after === '' ? undefined : after.split(' ')
  const workspaceId = sql`${uuidOf(ctx.workspaceId)}::uuid`
  const { rows } = await ctx.db.execute<{ id: string }>(sql`
    select flight.id from webhook_drains w cross join lateral unnest(w.delivery_ids) as flight (id)
    cross join lateral (
      select event_id from deliveries d
      where d.workspace_id = ${workspaceId} and d.webhook_id = w.webhook_id and d.id = flight.id and d.status = 'PENDING'
      limit 1) d
    cross join lateral (
      select contact_id from events e where e.workspace_id = ${workspaceId} and e.id = d.event_id limit 1) e
    where w.workspace_id = ${workspaceId} and e.contact_id = any(${uuidsOf(person)})`)
  const left = rows.filter(({ id }) => known?.includes(id) ?? true).map(({ id }) => id)
  return left.length > 0 ? { isWaiting: true, after: left.join(' ') } : {}
}

const batchSize = 5_000

/**
 * Redacts the next deliveries, in the order of the primary key: those of the person's events, and those of events of no
 * contact whose response contains an address of the person.
 */
export async function redactDeliveries(ctx: Ctx, person: ErasedPerson, after: string): Promise<StepResult> {
  const [webhookId = nil, id = nil] = after ? after.split(' ') : []
  const workspaceId = sql`${uuidOf(ctx.workspaceId)}::uuid`
  const limit = batchSizeFor(person, batchSize)
  // Events of no contact: later ones may be about a new contact with the same address.
  const isOld = sql`passed.id < ${uuidAt(person.deletedAt.getTime() + 1)}::uuid`
  const { rows } = await ctx.db.execute<PassedDelivery>(sql`
    with passed as materialized (
      select webhook_id, id, event_id, response_body, error from deliveries
      where workspace_id = ${workspaceId} and (webhook_id, id) > (${webhookId}::uuid, ${id}::uuid)
      order by webhook_id, id limit ${limit}),
    last as (
      select webhook_id, id, count(*) over () as count from passed order by webhook_id desc, id desc limit 1)
    select last.webhook_id as "lastWebhookId", last.id as "lastId", last.count::int, found.*
    from last left join lateral (
      select passed.webhook_id as "webhookId", passed.id, passed.response_body as "responseBody", passed.error,
        e.contact_id is not null as "isOwn"
      from passed
      left join lateral (
        select contact_id from events e where e.workspace_id = ${workspaceId} and e.id = passed.event_id limit 1) e on true
      where (passed.response_body is not null or passed.error is not null)
        and (e.contact_id = any(${uuidsOf(person)}) or e.contact_id is null and ${isOld}
          and lower(concat_ws(' ', passed.response_body, passed.error)) like any(${sql.param(likePatterns(person))}::text[]))
      ) found on true`)
  const [last] = rows
  if (!last) return {}
  const found = rows.filter(({ isOwn, responseBody, error }) => isOwn || isNamedIn(person, [responseBody, error]))
  await redact(
    ctx,
    found.flatMap((row) => (row.webhookId && row.id ? { webhookId: row.webhookId, id: row.id } : [])),
  )
  return { after: last.count < limit ? undefined : `${last.lastWebhookId} ${last.lastId}` }
}

interface PassedDelivery extends Record<string, unknown> {
  lastWebhookId: string
  lastId: string
  count: number
  webhookId: string | null
  id: string | null
  responseBody: string | null
  error: string | null
  isOwn: boolean | null
}

const nil = '00000000-0000-0000-0000-000000000000'

/** The ids come from a CTE, to prevent partition pruning: see `takeDeliveries` in `backlog-claim.ts`. */
async function redact(ctx: Ctx, found: readonly { webhookId: string; id: string }[]): Promise<void> {
  if (found.length === 0) return
  const webhookIds = [...new Set(found.map(({ webhookId }) => webhookId))]
  await ctx.db.execute(sql`
    with found as materialized (
      select * from unnest(${sql.param(found.map(({ id }) => id))}::uuid[]) as found (id))
    update deliveries d set response_body = null, error = case when d.error is not null then ${redactedText} end
    where d.workspace_id = ${uuidOf(ctx.workspaceId)} and d.webhook_id = any(${sql.param(webhookIds)}::uuid[])
      and d.id = any(array(select id from found))`)
}
