/** Compares the acknowledged writes, the recorded deliveries and the received requests of a chaos run. */
import { Id, uuidOf } from '@rapport/core/kernel/ids.ts'
import type { HttpReceiver } from '@rapport/testing/network/receivers.ts'
import type { TestDatabase } from '@rapport/testing/postgres/database.ts'
import type { Stack } from './stack.ts'

export interface ChaosWebhook {
  key: string
  id: string
  path: string
  /** Whether the webhook was enabled during the whole run. */
  isStable: boolean
  isDeleted: boolean
}

interface DeliveryRow {
  path: string
  event: string
  contact: string
  webhook: string
  status: string
  attempted: boolean
}

/** Counts deliveries, and violations of the delivery guarantees, which must all be zero. */
export async function inspectDeliveries(
  { database }: Stack,
  {
    receiver,
    webhooks,
    acknowledged,
  }: { receiver: HttpReceiver; webhooks: ChaosWebhook[]; acknowledged: { key: string; id: string }[] },
) {
  const { rows } = await database.pool.query<DeliveryRow>(
    `select w.url as path, e.id::text as event, e.data ->> 'id' as contact, w.id::text as webhook, d.status,
       d.attempted_at is not null as attempted
     from deliveries d join webhooks w on w.workspace_id = d.workspace_id and w.id = d.webhook_id
     join events e on e.workspace_id = d.workspace_id and e.id = d.event_id`,
  )
  const received = new Map<string, number>()
  for (const { url, body } of receiver.requests) {
    const { data } = JSON.parse(body.toString()) as { data: { id: string } }
    const name = `${url} ${data.id}`
    received.set(name, (received.get(name) ?? 0) + 1)
  }
  const nameOf = ({ path, contact }: DeliveryRow) => `${new URL(path).pathname} ${contact}`
  const known = new Set(rows.map(nameOf))
  const timesOf = (row: DeliveryRow) => received.get(nameOf(row)) ?? 0
  const countIf = (matches: (row: DeliveryRow) => boolean) => rows.filter(matches).length
  const stable = webhooks.filter(({ isStable }) => isStable)
  const deletedPaths = new Set(webhooks.filter(({ isDeleted }) => isDeleted).map(({ path }) => path))
  return {
    deliveries: rows.length,
    received: receiver.requests.length,
    statuses: Object.fromEntries(
      [...Map.groupBy(rows, (row) => row.status)].map(([status, some]) => [status, some.length]),
    ),
    violations: {
      receivedTwice: [...received.values()].filter((times) => times > 1).length,
      // The hourly maintenance may have purged the deliveries of a deleted webhook.
      receivedUnknown: [...received.keys()].filter(
        (name) => !known.has(name) && !deletedPaths.has(name.split(' ')[0] ?? ''),
      ).length,
      succeededNotReceived: countIf((row) => row.status === 'SUCCEEDED' && timesOf(row) !== 1),
      failedWithoutAttemptButReceived: countIf((row) => row.status === 'FAILED' && !row.attempted && timesOf(row) > 0),
      open: countIf(({ status }) => !['SUCCEEDED', 'FAILED', 'INTERRUPTED'].includes(status)),
      // Every acknowledged write has a delivery for each webhook of its workspace that was always enabled.
      missing: acknowledged
        .flatMap(({ key, id }) => stable.filter((webhook) => webhook.key === key).map(({ path }) => `${path} ${id}`))
        .filter((name) => !known.has(name)).length,
      ...(await countIncompleteWrites(database, stable)),
    },
  }
}

/** A write whose response was lost has either one event and all its deliveries, or none of them. */
async function countIncompleteWrites({ pool }: TestDatabase, stable: ChaosWebhook[]) {
  // Two statements, as a cluster does not take both as sub-selects of one.
  const twice = await pool.query<{ writtenTwice: number }>(
    `with created as materialized (select data ->> 'id' as contact from events where type = 'contact.created')
     select count(*)::int - count(distinct contact)::int as "writtenTwice" from created`,
  )
  const missing = await pool.query<{ incomplete: number }>(
    `select count(*)::int as incomplete from events e
     join webhooks w on w.workspace_id = e.workspace_id and w.id = any($1)
     where e.type = 'contact.created' and not exists (
       select from deliveries d where d.workspace_id = e.workspace_id and d.event_id = e.id and d.webhook_id = w.id
     )`,
    [stable.map(({ id }) => uuidOf(Id('whk').parse(id)))],
  )
  return { writtenTwice: twice.rows[0]?.writtenTwice ?? NaN, incomplete: missing.rows[0]?.incomplete ?? NaN }
}
