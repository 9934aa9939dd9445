import { eq, sql } from 'drizzle-orm'
import { Webhook as Verifier } from 'standardwebhooks'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestContact, createTestWebhook, createTestWorker } from '@rapport/testing/fixtures/factories.ts'
import { claimTestDrain } from '@rapport/testing/fixtures/webhook-drain.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import type { Contact } from '../../contacts/contacts.schema.ts'
import { events, webhooks } from '../../db/schema/index.ts'
import { deriveKeys } from '../../kernel/crypto.ts'
import { type EventId, newId, uuidOf } from '../../kernel/ids.ts'
import { rotateSecret } from '../rotate-secret.ts'
import type { CreatedWebhook } from '../webhooks.schema.ts'
import { releaseUnacknowledgedDrain } from './drain.ts'
import { type Receiver, signatureHeaders } from './signed-delivery.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
let webhook: CreatedWebhook
let contact: Contact
let workerId: string
beforeAll(async () => {
  workerId = await createTestWorker(database.db)
})
beforeEach(async () => {
  webhook = await createTestWebhook(ctx)
  contact = await createTestContact(ctx, { firstName: 'Adé 🦉', lastName: '"</script>' })
})

interface Claimed {
  eventId: EventId
  body: string
  receiver: Receiver
}

/** Takes the only delivery and releases the claim. */
async function claim(): Promise<Claimed> {
  const { claim, take } = await claimTestDrain(ctx, { workerId })
  await releaseUnacknowledgedDrain(ctx.db, claim)
  const [delivery] = take?.deliveries ?? []
  if (!delivery?.body) throw new Error('The delivery could not be claimed')
  return { eventId: delivery.eventId, body: delivery.body, receiver: delivery.receiver }
}

const sign = (
  delivery: Claimed,
  { settings = ctx.settings, now = new Date() }: { settings?: Parameters<typeof signatureHeaders>[0]; now?: Date } = {},
) => signatureHeaders(settings, { webhookId: webhook.id, ...delivery }, now)

describe('a delivery', () => {
  test('contains the event as the API returns it, and has the current url', async () => {
    await ctx.db.update(webhooks).set({ url: 'https://example.com/new' }).where(eq(webhooks.id, webhook.id))
    const delivery = await claim()
    const body = JSON.parse(delivery.body) as Record<string, unknown>
    expect(Object.keys(body)).toEqual(['id', 'type', 'timestamp', 'data'])
    const [event] = await ctx.db.select().from(events).where(eq(events.id, delivery.eventId))
    const timestamp = event?.createdAt
    expect(body).toEqual({ id: delivery.eventId, type: 'contact.created', timestamp, data: contact })
    expect(JSON.stringify(body['data'])).toBe(JSON.stringify(contact))
    expect(delivery.receiver.url).toBe('https://example.com/new')
  })

  test('is verified by the Standard Webhooks library with the secret of the webhook', async () => {
    const delivery = await claim()
    const beforeSeconds = Math.floor(Date.now() / 1000)
    const headers = sign(delivery)
    const timestamp = Number(headers['webhook-timestamp'])
    expect(new Verifier(webhook.secret).verify(delivery.body, headers)).toEqual(JSON.parse(delivery.body))
    expect(headers['webhook-id']).toBe(delivery.eventId)
    expect(timestamp).toBeGreaterThanOrEqual(beforeSeconds)
    expect(timestamp).toBeLessThanOrEqual(Math.ceil(Date.now() / 1000))
  })

  test('is not verified with a changed body, id, time, signature or secret', async () => {
    const delivery = await claim()
    const headers = sign(delivery)
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

  test('cannot be signed with the encrypted secret of another webhook', async () => {
    const other = await createTestWebhook(ctx)
    const stored = await ctx.db.select().from(webhooks).where(eq(webhooks.id, other.id))
    await ctx.db
      .update(webhooks)
      .set({ encryptedSecret: stored[0]?.encryptedSecret })
      .where(eq(webhooks.id, webhook.id))
    const delivery = await claim()
    expect(() => sign(delivery)).toThrow()
  })

  test('is signed with a secret that the database stores only encrypted', async () => {
    const stored = await ctx.db.execute(sql`select w::text as row from webhooks w where id = ${uuidOf(webhook.id)}`)
    expect(String(stored.rows[0]?.['row'])).not.toContain(webhook.secret.slice('whsec_'.length))
  })
})

test('for 24 hours after a rotation both secrets verify, then only the new one', async () => {
  const { secret } = await rotateSecret(ctx, webhook.id)
  const delivery = await claim()
  const now = sign(delivery)
  for (const one of [secret, webhook.secret]) expect(() => new Verifier(one).verify(delivery.body, now)).not.toThrow()
  const tomorrow = sign(delivery, { now: new Date(Date.now() + 24 * 3_600_000 + 1_000) })
  expect(now['webhook-signature']?.split(' ')).toHaveLength(2)
  expect(tomorrow['webhook-signature']?.split(' ')).toHaveLength(1)
})

test('a lost SECRET_KEY prevents signing until the former key is set or a rotation', async () => {
  const delivery = await claim()
  const named = { keys: deriveKeys('the secret of the time after that', ['a secret that is known to every test']) }
  expect(() => new Verifier(webhook.secret).verify(delivery.body, sign(delivery, { settings: named }))).not.toThrow()
  const lost = { ...ctx, settings: { ...ctx.settings, keys: deriveKeys('the secret of the time after that') } }
  expect(() => sign(delivery, lost)).toThrow('encrypted with another SECRET_KEY')
  const { secret } = await rotateSecret(lost, webhook.id)
  const next = await claim()
  expect(() => new Verifier(secret).verify(next.body, sign(next, lost))).not.toThrow()
})

test('a delivery has no body if its event was deleted', async () => {
  await ctx.db.execute(sql`delete from events where workspace_id = ${uuidOf(ctx.workspaceId)}`)
  const { take } = await claimTestDrain(ctx, { workerId })
  expect(take?.deliveries).toMatchObject([{ body: undefined }])
})
