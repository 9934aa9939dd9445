import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { recordStatements } from '@rapport/testing/postgres/statements.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { claimTestBatch, sendTestBatch, startTestCampaign } from '@rapport/testing/fixtures/campaign-work.ts'
import {
  createTestContact,
  createTestCtx,
  createTestWorker,
  listEventTypes,
} from '@rapport/testing/fixtures/factories.ts'
import { providerSecrets, readTestCertificate, signMessage } from '@rapport/testing/mail-providers/provider-messages.ts'
import { eq } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { readStats } from '../../campaigns/campaign-stats.ts'
import { readSuppressions } from '../../consent/consent-records.ts'
import { lockContact } from '../../contacts/lock-contact.ts'
import { readContact } from '../../contacts/read-contact.ts'
import { events, mailHooks } from '../../db/schema/index.ts'
import { type MailHookId, uuidOf } from '../../kernel/ids.ts'
import type { Ctx } from '../../request/context.ts'
import { createInstallationHook, createMailHook } from '../../mail-hooks/mail-hooks.ts'
import { type ReceivedMessage, receiveHookMessage } from './receive-hook-message.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const input = { provider: 'sendgrid', secret: providerSecrets.sendgrid } as const

const eventsOf = (count: number, event: object) =>
  Array.from({ length: count }, (_, at) => ({
    email: `unknown-${at}@example.com`,
    sg_message_id: `x${at}.1`,
    ...event,
  }))
const receive = (
  hookId: MailHookId,
  events: object[],
  { on = ctx, ...options }: { on?: Ctx } & Pick<ReceivedMessage, 'closed' | 'inTurn'> = {},
) =>
  receiveHookMessage(on, {
    ...input,
    hookId,
    ...signMessage.sendgrid(events),
    now: new Date(),
    readUrl: readTestCertificate,
    ...options,
  })
const count = async (hookId: MailHookId, events: object[]) =>
  (await recordStatements(database, ctx, (on) => receive(hookId, events, { on }))).length
const bounced = { event: 'bounce', type: 'bounce', status: '5.1.1' }
const soft = { event: 'bounce', type: 'bounce', status: '4.2.2' }
const complained = { event: 'spamreport' }
const unsubscribed = { event: 'unsubscribe', sg_event_id: 'one' }
const countBounces = () => database.db.$count(events, eq(events.type, 'mail.bounced'))
const listBounces = async () => (await listEventTypes(ctx)).filter((type) => type === 'mail.bounced')
const reasonsOf = async (email: string) => (await readSuppressions(ctx, { email })).map(({ reason }) => reason)

test('a message of 100 events takes a few statements for each 25', async () => {
  const hook = await createMailHook(ctx, input)
  const few = await count(hook.id, eventsOf(20, bounced))
  const many = await count(hook.id, eventsOf(100, { ...bounced, sg_message_id: 'other.1' }))
  expect(few).toBeLessThan(30)
  expect(many).toBeLessThan(4 * few)
  expect(await listBounces()).toHaveLength(120)
  expect(await reasonsOf('unknown-99@example.com')).toEqual(['BOUNCED'])
})

test('a message about 275 recipients takes a few statements for each 25', async () => {
  const { id, batches } = await startTestCampaign(ctx, 300)
  for (const uuid of batches) {
    const batch = await claimTestBatch(ctx, uuid, await createTestWorker(database.db))
    await sendTestBatch(ctx, batch, { providerPrefix: 'sg' })
  }
  const hook = await createMailHook(ctx, input)
  const toEvent = (number: number, event: object) => ({
    email: `person-${number}@example.com`,
    sg_message_id: `sg-person-${number}.1`,
    ...event,
  })
  const eventOf = (number: number) => toEvent(number, [bounced, soft, complained, unsubscribed][number % 4] ?? {})
  const from = (first: number, length: number) => Array.from({ length }, (_, at) => eventOf(first + at))
  const few = await count(hook.id, from(1, 25))
  const many = await count(hook.id, from(26, 275))
  expect(few).toBeLessThan(60)
  expect(many).toBeLessThan(11 * few + 10)
  expect(await readStats(ctx, id)).toMatchObject({ bounced: 75, complained: 75, unsubscribed: 75 })
  expect(await count(hook.id, from(101, 25))).toBeLessThan(20)
})

/** So many that the transactions of a large message have 10 events each. */
async function addManyLists({ workspaceId }: Ctx): Promise<void> {
  await database.pool.query(
    `insert into lists (workspace_id, id, name, created_at, updated_at)
      select $1, gen_random_uuid(), 'List ' || n, now(), now() from generate_series(1, 1000) n`,
    [uuidOf(workspaceId)],
  )
}

test('with many lists, fewer contacts change in a transaction', async () => {
  await addManyLists(ctx)
  const hook = await createMailHook(ctx, input)
  const statements = await recordStatements(database, ctx, (on) => receive(hook.id, eventsOf(25, bounced), { on }))
  expect(statements.filter(({ text }) => /^begin/i.test(text))).toHaveLength(3)
})

test('a repeated message changes nothing, and equal events count once', async () => {
  const hook = await createMailHook(ctx, input)
  const events = [...eventsOf(3, bounced), ...eventsOf(3, bounced), ...eventsOf(2, { event: 'unsubscribe' })]
  await receive(hook.id, events)
  await database.pool.query('delete from suppressions where reason = $1', ['BOUNCED'])
  await receive(hook.id, events)
  expect(await listBounces()).toHaveLength(3)
  expect([await reasonsOf('unknown-0@example.com'), await reasonsOf('unknown-2@example.com')]).toEqual([
    ['OPTED_OUT'],
    [],
  ])
})

test('of a large message, the contacts of the workspace are recorded as ever', async () => {
  const hook = await createMailHook(ctx, input)
  const contact = await createTestContact(ctx, { email: 'Unknown-1@example.com' })
  await receive(hook.id, eventsOf(3, bounced))
  const { rows } = await database.pool.query<{ contact: string | null }>(
    `select data->>'contactId' as contact from events
      where type = 'mail.bounced' and workspace_id = $1 and data->>'email' ilike 'unknown-1@%'`,
    [uuidOf(ctx.workspaceId)],
  )
  expect(rows).toEqual([{ contact: contact.id }])
})

test('a HARD bounce updates its contact once', async () => {
  const hook = await createMailHook(ctx, input)
  const { id } = await createTestContact(ctx, { email: 'unknown-0@example.com' })
  const statements = await recordStatements(database, ctx, (on) => receive(hook.id, eventsOf(1, bounced), { on }))
  expect(statements.filter(({ text }) => /update "?contacts/.test(text))).toHaveLength(1)
  expect(await readContact(ctx, id)).toMatchObject({
    emailSubscribedStatus: 'BOUNCED',
    lastActivityAt: expect.any(String),
  })
})

test('events that say nothing and emails of no workspace are dropped', async () => {
  const hook = await createInstallationHook(ctx, input)
  expect(await count(hook.id, eventsOf(1_000, { event: 'delivered' }))).toBeLessThan(5)
  expect(await count(hook.id, eventsOf(25, bounced))).toBeLessThan(10)
  expect(await listBounces()).toEqual([])
})

test('a workspace has one message recorded at a time', async () => {
  const hook = await createMailHook(ctx, input)
  const open = new Set<number>()
  let most = 0
  const counting = async () => {
    const { rows } = await database.pool.query(
      `select from pg_stat_activity where datname = current_database() and state = 'idle in transaction'`,
    )
    most = Math.max(most, rows.length)
  }
  const messages = Array.from({ length: 6 }, async (_, at) => {
    open.add(at)
    await receive(hook.id, eventsOf(200, { ...bounced, status: `5.1.${(at % 3) + 1}`, sg_message_id: `m${at}.1` }))
    open.delete(at)
  })
  while (open.size > 0) {
    await counting()
    await turn()
  }
  await Promise.all(messages)
  expect(most).toBeLessThanOrEqual(1)
})

test('a message waits until another one of its workspace is recorded', async () => {
  const hook = await createMailHook(ctx, input)
  const ended: string[] = []
  const send = async (name: string, events: object[]) => {
    await receive(hook.id, events)
    ended.push(name)
  }
  const before = await countBounces()
  const large = send('large', eventsOf(400, bounced))
  await expect.poll(countBounces).toBeGreaterThan(before)
  await Promise.all([large, send('small', eventsOf(1, bounced))])
  expect(ended).toEqual(['large', 'small'])
})

test('a message whose hook is deleted while it waits for its turn is refused', async () => {
  const { id } = await createMailHook(ctx, input)
  const inTurn = async <Result>(_workspaceId: string, work: () => Promise<Result>) => {
    await database.db.delete(mailHooks).where(eq(mailHooks.id, id))
    return work()
  }
  await expect(receive(id, eventsOf(1, bounced), { inTurn })).rejects.toMatchObject({ code: 'unauthorized' })
  expect(await listBounces()).toEqual([])
})

test('the event of a workspace is recorded between the transactions of four others', async () => {
  const ended: string[] = []
  const send = async (on: Ctx, name: string, events: object[]) => {
    const hook = await createMailHook(on, input)
    return async () => {
      await receive(hook.id, events, { on })
      ended.push(name)
    }
  }
  const large = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const on = await createTestCtx(database.db)
      await addManyLists(on)
      return send(on, 'large', eventsOf(150, bounced))
    }),
  )
  const small = await send(ctx, 'small', eventsOf(1, bounced))
  const before = await countBounces()
  const sending = large.map((send) => send())
  await expect.poll(countBounces).toBeGreaterThan(before)
  await Promise.all([...sending, small()])
  expect(ended).toEqual(['small', 'large', 'large', 'large', 'large'])
})

test('the hook rests after a transaction for as long as the transaction took', async () => {
  const hook = await createMailHook(ctx, input)
  const { id } = await createTestContact(ctx, { email: 'unknown-0@example.com' })
  const other = await openTransaction(database.db, (db) => lockContact({ ...ctx, db }, id))
  const receiving = receive(hook.id, eventsOf(101, bounced))
  await waitUntilBlocked(database.db)
  await sleep(300)
  await other.commit()
  await receiving
  const { rows } = await database.pool.query<{ ms: number }>(
    `select extract(epoch from max(created_at) - min(created_at))::float8 * 1000 as ms
      from events where type = 'mail.bounced' and workspace_id = $1`,
    [uuidOf(ctx.workspaceId)],
  )
  expect(rows[0]?.ms).toBeGreaterThan(590)
})

test('recording stops when the client has closed the connection', async () => {
  const hook = await createMailHook(ctx, input)
  const client = new AbortController()
  const before = await countBounces()
  const receiving = receive(hook.id, eventsOf(2_000, bounced), { closed: client.signal })
  const stopped = receiving.catch((error: unknown) => error)
  await expect.poll(countBounces).toBeGreaterThan(before)
  client.abort()
  expect(await stopped).toMatchObject({ code: 'unavailable' })
  expect(await countBounces()).toBeLessThan(before + 2_000)
})
