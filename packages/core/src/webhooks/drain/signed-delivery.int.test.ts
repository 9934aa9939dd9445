import { eq, sql } from 'drizzle-orm'
import { Webhook as Verifier } from 'standardwebhooks'
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { Contact } from '../contacts/contacts.schema.ts'
import { type Database, openDatabase } from '../db/client.ts'
import { newId, uuidOf } from '../kernel/ids.ts'
import { relayLanes } from '../jobs/outbox.ts'
import type { WorkJob } from '../jobs/queues.ts'
import { events, webhooks } from '../db/schema/index.ts'
import {
  claimDelivery,
  createTestContact,
  createTestCtx,
  createTestWebhook,
  createTestWorker,
  readOnlyDelivery,
  settleDelivery,
  waitingWork,
} from '@rapport/testing/fixtures/factories.ts'
import {
  claimDeliveries,
  type ClaimedDelivery,
  deliveryPlanning,
  signatureHeaders,
  undoDeliveryClaim,
} from './deliveries.ts'
import { type DeliveryOutcome, settleDeliveries } from './settlement.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import type { CreatedWebhook } from './webhooks.schema.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
let webhook: CreatedWebhook
let contact: Contact
let uuid: string
let workerId: string
beforeAll(async () => {
  workerId = await createTestWorker(database.db)
})
beforeEach(async () => {
  webhook = await createTestWebhook(ctx)
  contact = await createTestContact(ctx, { firstName: 'Adé 🦉', lastName: '"</script>' })
  uuid = (await readOnlyDelivery(ctx)).uuid
})

const setEnabled = (enabled: boolean) => ctx.db.update(webhooks).set({ enabled }).where(eq(webhooks.id, webhook.id))
const succeeded: DeliveryOutcome = {
  status: 'SUCCEEDED',
  durationMs: 12,
  responseStatus: 200,
  responseBody: 'thanks',
  error: null,
}

async function claim(): Promise<ClaimedDelivery> {
  const delivery = await claimDelivery(ctx, uuid, workerId)
  if (!delivery) throw new Error('The delivery could not be claimed')
  return delivery
}

describe('a claim', () => {
  test('is made once, by one of a hundred at once', async () => {
    const claims = await Promise.all(Array.from({ length: 100 }, () => claimDelivery(ctx, uuid, workerId)))
    expect(claims.filter(Boolean)).toHaveLength(1)
    expect(await readOnlyDelivery(ctx)).toMatchObject({ status: 'SENDING', worker_id: workerId })
    expect(await waitingWork(ctx)).toEqual([uuid])
  })

  test('cannot be made on behalf of another workspace', async () => {
    expect(await claimDelivery(await createTestCtx(database.db), uuid, workerId)).toBeUndefined()
    expect(await readOnlyDelivery(ctx)).toMatchObject({ status: 'PENDING' })
  })

  test('of a delivery whose webhook was disabled meanwhile fails without an attempt', async () => {
    await setEnabled(false)
    expect(await claimDelivery(ctx, uuid, workerId)).toBeUndefined()
    expect(await readOnlyDelivery(ctx)).toMatchObject({
      status: 'FAILED',
      error: 'The webhook was disabled',
      attempted_at: null,
      response_status: null,
    })
    expect(await waitingWork(ctx)).toEqual([])
    await setEnabled(true)
    expect(await claimDelivery(ctx, uuid, workerId)).toBeUndefined()
  })

  test('of a delivery that was deleted with its webhook ends the work', async () => {
    await ctx.db.delete(webhooks).where(eq(webhooks.id, webhook.id))
    expect(await waitingWork(ctx)).toEqual([uuid])
    expect(await claimDelivery(ctx, uuid, workerId)).toBeUndefined()
    expect(await waitingWork(ctx)).toEqual([])
  })

  test('that was not acted upon is taken back, by its own worker only, and can be made again', async () => {
    await claim()
    await undoDeliveryClaim(ctx.db, await createTestWorker(database.db), { id: uuid, workspaceId: ctx.workspaceId })
    expect(await readOnlyDelivery(ctx)).toMatchObject({ status: 'SENDING' })
    await undoDeliveryClaim(ctx.db, workerId, { id: uuid, workspaceId: ctx.workspaceId })
    expect(await readOnlyDelivery(ctx)).toMatchObject({ status: 'PENDING', worker_id: null, attempted_at: null })
    await claim()
  })

  test('is not taken back once its outcome is known', async () => {
    await claim()
    await settleDelivery(ctx, { uuid, workerId }, succeeded)
    await undoDeliveryClaim(ctx.db, workerId, { id: uuid, workspaceId: ctx.workspaceId })
    expect(await readOnlyDelivery(ctx)).toMatchObject({ status: 'SUCCEEDED' })
  })
})

describe('an outcome', () => {
  test('is recorded with its work ended, once, though its answer is lost and it comes again', async () => {
    await claim()
    await settleDelivery(ctx, { uuid, workerId }, succeeded)
    await settleDelivery(ctx, { uuid, workerId }, { ...succeeded, status: 'FAILED', error: 'no' })
    expect(await readOnlyDelivery(ctx)).toMatchObject({
      status: 'SUCCEEDED',
      duration_ms: 12,
      response_status: 200,
      response_body: 'thanks',
      error: null,
    })
    expect(await waitingWork(ctx)).toEqual([])
    expect(await claimDelivery(ctx, uuid, workerId)).toBeUndefined()
  })

  test('of another worker than the one that attempted it changes nothing', async () => {
    await claim()
    await settleDelivery(ctx, { uuid, workerId: await createTestWorker(database.db) }, succeeded)
    expect(await readOnlyDelivery(ctx)).toMatchObject({ status: 'SENDING' })
    expect(await waitingWork(ctx)).toEqual([uuid])
  })
})

describe('what is sent', () => {
  test('is the event with the record as the API shows it, to the address as it is now', async () => {
    await ctx.db.update(webhooks).set({ url: 'https://example.com/new' }).where(eq(webhooks.id, webhook.id))
    const delivery = await claim()
    const body = JSON.parse(delivery.body) as Record<string, unknown>
    expect(Object.keys(body)).toEqual(['id', 'type', 'timestamp', 'data'])
    const [event] = await ctx.db.select().from(events).where(eq(events.id, delivery.eventId))
    const timestamp = event?.createdAt.toISOString()
    expect(body).toEqual({ id: delivery.eventId, type: 'contact.created', timestamp, data: contact })
    expect(JSON.stringify(body['data'])).toBe(JSON.stringify(contact))
    expect(delivery).toMatchObject({ url: 'https://example.com/new', webhookId: webhook.id })
  })

  test('is signed so that the Standard Webhooks library verifies it with the secret that was shown once', async () => {
    const delivery = await claim()
    const beforeSeconds = Math.floor(Date.now() / 1000)
    const headers = signatureHeaders(ctx.settings, delivery)
    const timestamp = Number(headers['webhook-timestamp'])
    expect(new Verifier(webhook.secret).verify(delivery.body, headers)).toEqual(JSON.parse(delivery.body))
    expect(headers['webhook-id']).toBe(delivery.eventId)
    expect(timestamp).toBeGreaterThanOrEqual(beforeSeconds)
    expect(timestamp).toBeLessThanOrEqual(Math.ceil(Date.now() / 1000))
  })

  test('does not verify with one bit of body, id, time or signature flipped, nor with another secret', async () => {
    const delivery = await claim()
    const headers = signatureHeaders(ctx.settings, delivery)
    const verifier = new Verifier(webhook.secret)
    for (let at = 0; at < delivery.body.length; at += 17) {
      const flipped = Buffer.from(delivery.body)
      flipped[at] = (flipped[at] ?? 0) ^ 1
      expect(() => verifier.verify(flipped, headers)).toThrow('No matching signature')
    }
    const wrong = [
      { 'webhook-id': newId('evt') },
      { 'webhook-timestamp': String(Number(headers['webhook-timestamp']) + 1) },
      { 'webhook-signature': headers['webhook-signature']?.replace(/.(?==*$)/, (last) => (last === 'A' ? 'B' : 'A')) },
    ]
    for (const change of wrong) {
      expect(() => verifier.verify(delivery.body, { ...headers, ...change } as never)).toThrow('No matching signature')
    }
    const other = await createTestWebhook(ctx)
    expect(() => new Verifier(other.secret).verify(delivery.body, headers)).toThrow('No matching signature')
  })

  test('cannot be signed with a secret that was moved from another webhook', async () => {
    const other = await createTestWebhook(ctx)
    await ctx.db.execute(sql`update webhooks set encrypted_secret =
      (select encrypted_secret from webhooks where id = ${uuidOf(other.id)}) where id = ${uuidOf(webhook.id)}`)
    const delivery = await claim()
    expect(() => signatureHeaders(ctx.settings, delivery)).toThrow()
  })

  test('holds no secret in the database in clear', async () => {
    const stored = await ctx.db.execute(sql`select w::text as row from webhooks w where id = ${uuidOf(webhook.id)}`)
    expect(String(stored.rows[0]?.['row'])).not.toContain(webhook.secret.slice('whsec_'.length))
  })
})

test.each(['0 days', '14 days'])(
  'the plan of a claim and of an outcome, made while there was nothing, looks at no other delivery when there are thousands, over or waiting, in %s',
  async (later) => {
    const desk = openDatabase(database.url, {
      applicationName: 'rapport test',
      maxConnections: 1,
      settings: deliveryPlanning,
      onError: () => {},
    })
    onTestFinished(() => desk.close())
    const onDesk = { ...ctx, db: desk.db }
    await claimDelivery(onDesk, uuid, workerId)
    await settleDelivery(onDesk, { uuid, workerId }, succeeded)
    await createBacklog(later)
    await relayLanes(ctx.db, { epoch: 'one' }, async () => {})
    const jobs = (await waitingWork(ctx)).slice(0, 1).map((id) => ({ id, workspaceId: ctx.workspaceId }))
    const goOn = async (ended: WorkJob[]) => {
      const outcomes = ended.map((job) => ({ ...job, outcome: succeeded, goesOn: true, isQuick: false }))
      const { next } = await settleDeliveries(desk.db, workerId, { ended: outcomes, inHand: ended.map(({ id }) => id) })
      expect(next).toHaveLength(1)
      return next.map(({ job }) => job)
    }
    let next: WorkJob[] = []
    const read = await countReadRows(desk, async () => {
      expect(await claimDeliveries(desk.db, workerId, jobs)).toHaveLength(1)
      next = await goOn(jobs)
    })
    expect(read).toBeLessThan(100)
    await leaveBehind()
    next = await goOn(next)
    // Once no autovacuum has a look at the same moment, as that keeps what is dead in the indexes.
    const goOnAgain = async () => void (next = await goOn(next))
    await waitUntil(async () => (await countReadRows(desk, goOnAgain)) < 1_000, {
      describe: 'what is over is not walked through any more',
    })
    // A bitmap would be made anew of all that is over, each time, until the next vacuum.
    const plan = await readPlan(desk, 'settle deliveries')
    expect(plan).not.toMatch(/Bitmap|Seq Scan/)
    // Which has all that waits in it, where some twenty rows are to be counted.
    expect(plan).not.toContain('outbox_rest_index')
  },
)

/** Thousands that wait, in the partitions of that time. */
async function createBacklog(later: string) {
  await ctx.db.execute(sql`
    with event as (
      insert into events (workspace_id, id, type, data, transaction_id)
      select ${uuidOf(ctx.workspaceId)}, uuidv7(${later}::interval), 'contact.created', '{}', '1' from generate_series(1, 5000)
      returning id, type),
    made as (
      insert into deliveries (workspace_id, id, webhook_id, event_id, event_type)
      select ${uuidOf(ctx.workspaceId)}, uuidv7(${later}::interval), ${uuidOf(webhook.id)}, id, type from event
      returning id)
    insert into outbox (id, workspace_id, queue, lane)
    select id, ${uuidOf(ctx.workspaceId)}, 'webhooks', ${uuidOf(webhook.id)} from made`)
}

/** Thousands that were handed over and are done, which no vacuum has cleared away yet. */
async function leaveBehind() {
  await ctx.db.execute(sql`
    insert into outbox (id, workspace_id, queue, lane, relayed_epoch)
    select uuidv7(), ${uuidOf(ctx.workspaceId)}, 'webhooks', ${uuidOf(webhook.id)}, 'over' from generate_series(1, 5000)`)
  await ctx.db.execute(sql`delete from outbox where relayed_epoch = 'over'`)
}

/** Of a prepared statement, on its one connection. */
async function readPlan({ pool }: Database, name: string): Promise<string> {
  const found = await pool.query<{ count: number }>(
    'select cardinality(parameter_types) as count from pg_prepared_statements where name = $1',
    [name],
  )
  const parameters = Array.from({ length: found.rows[0]?.count ?? 0 }, () => 'null')
  const { rows } = await pool.query<Record<string, string>>(`explain execute "${name}" (${parameters.join()})`)
  return rows.map((row) => row['QUERY PLAN']).join('\n')
}

/** By index and without. */
async function countReadRows({ pool }: Database, work: () => Promise<unknown>): Promise<number> {
  const read = async () => {
    await pool.query('select pg_stat_force_next_flush()')
    const { rows } = await pool.query<{ count: string }>(`
      select (select sum(seq_tup_read) from pg_stat_user_tables) + (select sum(idx_tup_read) from pg_stat_user_indexes) as count`)
    return Number(rows[0]?.count)
  }
  const before = await read()
  await work()
  return (await read()) - before
}
