import { type Placeholder, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../request/context.ts'
import type { Db } from '../db/client.ts'
import type { EventDefinition, EventSubject, EventType } from './event-definition.ts'
import { eventLifetimeDays } from '../db/partitions.ts'
import { idOf, newId, uuidOf } from '../kernel/ids.ts'
import { enqueueMany } from '../jobs/outbox.ts'
import { type Given, preparedSql } from '../db/prepared-query.ts'
import { transaction } from '../db/transaction.ts'

/** Whose activity an event is, if a person's. */
function contactOf(type: string, data: EventSubject): string | null {
  const id = type.startsWith('contact.') ? data.id : data.contactId
  return id ? uuidOf(id) : null
}

/**
 * Records what happened, in the transaction of the change, with a delivery for each webhook that is enabled and wants
 * it as the statement begins. One statement; where nobody listens it writes the event and nothing else. The lock, which
 * the foreign key would take in any case, leaves out a webhook that is just being deleted, where the key would refuse it.
 */
export function emit<Data extends EventSubject>(
  ctx: Ctx,
  definition: EventDefinition<Data>,
  data: NoInfer<Data>,
): Promise<void> {
  return emitMany(ctx, definition, [data])
}

/** The same for many at once, told in their order: still one statement. */
export async function emitMany<Data extends EventSubject>(
  ctx: Ctx,
  definition: EventDefinition<Data>,
  records: readonly NoInfer<Data>[],
): Promise<void> {
  await emitEach(
    ctx,
    definition,
    records.map((data) => ({ data, origin: ctx })),
  )
}

/** The same where several requests are answered in one transaction: each thing happened by the request it names. */
export async function emitEach<Data extends EventSubject>(
  ctx: Ctx,
  { type }: EventDefinition<Data>,
  happened: readonly Happened<NoInfer<Data>>[],
): Promise<void> {
  if (happened.length > 0) await tellAll(ctx.db, toValues(ctx, type, happened))
}

interface Happened<Data> {
  data: Data
  origin: Pick<Ctx, 'requestId' | 'traceparent'>
}

/** Tells one webhook alone, whatever it wants to know of. Answers the event's id. */
export async function emitTo<Data extends EventSubject>(
  ctx: Ctx,
  { type }: EventDefinition<Data>,
  { webhookId, data }: { webhookId: string; data: NoInfer<Data> },
): Promise<string> {
  const values = toValues(ctx, type, [{ data, origin: ctx }])
  await tellOne(ctx.db, { ...values, webhookId: uuidOf(webhookId) })
  return idOf('evt', values.ids[0] ?? '')
}

/** What is told, an array for each column. */
interface Told extends Record<string, unknown> {
  workspaceId: string
  type: string
  ids: string[]
  data: string[]
  contactIds: (string | null)[]
  requestIds: string[]
  traceparents: (string | null)[]
}

function toValues(ctx: Ctx, type: string, happened: readonly Happened<EventSubject>[]): Told {
  return {
    workspaceId: uuidOf(ctx.workspaceId),
    type,
    ids: happened.map(() => uuidOf(newId('evt'))),
    data: happened.map(({ data }) => JSON.stringify(data)),
    contactIds: happened.map(({ data }) => contactOf(type, data)),
    requestIds: happened.map(({ origin }) => origin.requestId),
    traceparents: happened.map(({ origin }) => origin.traceparent ?? null),
  }
}

const wantsIt = (type: SQL | Placeholder) => sql`w.enabled and w.event_types && array[${type}, '*']`

const tellAll = preparedSql('tell all', (given: Given<Told>) => telling(given, wantsIt(given('type'))))

const tellOne = preparedSql('tell one', (given: Given<Told & { webhookId: string }>) =>
  telling(given, sql`w.id = ${given('webhookId')}::uuid`),
)

function telling(given: Given<Told>, to: SQL): SQL {
  return sql`
    with told as (
      select * from unnest(${given('ids')}::uuid[], ${given('data')}::text[], ${given('contactIds')}::uuid[],
        ${given('requestIds')}::text[], ${given('traceparents')}::text[])
        as told (id, data, contact_id, request_id, traceparent)),
    ${tellTo(to, { workspaceId: given('workspaceId'), type: given('type') })}
    select from notified`
}

interface Teller {
  workspaceId: Placeholder
  type: SQL | Placeholder
}

/**
 * The same as `emitEach` as members of a `with` list, for a statement that itself makes what it tells of. An earlier
 * member `told` has what happened: `id`, `data` (JSON, as text), `contact_id`, `request_id` and `traceparent`. The main
 * query must read `notified`, as PostgreSQL does not run a SELECT that nobody reads. The first member of all is to lock the
 * workspace, as the upkeep of partitions takes that table before those of the events.
 */
export function tellEach(workspaceId: Placeholder, type: EventType): SQL {
  const typed = sql`${type}::text`
  return tellTo(wantsIt(typed), { workspaceId, type: typed })
}

/** The end of the JSON of a record that was just made, and has `"createdAt"` and `"updatedAt"`, which nobody knew before. */
export const endOfJson = sql.raw(
  `format(',"createdAt":"%s","updatedAt":"%s"}', ${['"createdAt"', '"updatedAt"']
    .map((moment) => `to_char(${moment} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`)
    .join(', ')})`,
)

function tellTo(to: SQL, { workspaceId, type }: Teller): SQL {
  return sql`
    event as (
      insert into events (workspace_id, id, type, data, contact_id)
      select ${workspaceId}::uuid, id, ${type}, data::json, contact_id from told),
    delivery as (
      insert into deliveries (workspace_id, id, webhook_id, event_id, event_type)
      select w.workspace_id, uuidv7(), w.id, told.id, ${type}
      from told cross join webhooks w
      where w.workspace_id = ${workspaceId}::uuid and ${to}
      -- A webhook that is just being deleted is left out, where the foreign key would refuse it.
      for key share of w
      returning workspace_id, id, webhook_id as lane, event_id),
    ready as (
      select delivery.*, request_id, traceparent from delivery join told on told.id = delivery.event_id),
    ${enqueueMany('webhooks', 'ready', { requestId: sql`request_id`, traceparent: sql`traceparent` })}`
}

const isOpen = sql`exists (
  select from deliveries d
  where d.workspace_id = e.workspace_id and d.event_id = e.id and d.status in ('PENDING', 'SENDING'))`

/**
 * Forgets events that are past their time and lie in a partition that cannot be dropped yet (it is of longer than a week,
 * or some in it are needed), a few at a time, and with them their deliveries. One with a delivery that somebody just
 * asked for again waits for its end. Answers how many.
 */
export function purgeEvents(db: Db): Promise<number> {
  return transaction(db, async (db) => {
    const old = await db.execute<{ workspace_id: string; id: string }>(sql`
      select workspace_id, id from events e
      where created_at < now() - ${eventLifetimeDays + 7} * interval '1 day' and not ${isOpen}
      order by created_at limit 500 for update skip locked`)
    // Asked again, as one may have got a delivery before it was locked.
    const [workspaceIds, ids] = [old.rows.map((row) => row.workspace_id), old.rows.map((row) => row.id)]
    const gone = await db.execute<{ count: number }>(sql`
      with gone as (
        delete from events e using unnest(${sql.param(workspaceIds)}::uuid[], ${sql.param(ids)}::uuid[]) as old (workspace_id, id)
        where e.workspace_id = old.workspace_id and e.id = old.id and not ${isOpen}
        returning e.workspace_id, e.id),
      undone as (
        delete from deliveries d using gone where d.workspace_id = gone.workspace_id and d.event_id = gone.id)
      select count(*)::int as count from gone`)
    return gone.rows[0]?.count ?? 0
  })
}
