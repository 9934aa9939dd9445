import { findContactByEmail } from '@rapport/core/contacts/find-contact.ts'
import { type ContactId, newId, uuidOf } from '@rapport/core/kernel/ids.ts'
import { sendCampaign } from '@rapport/core/campaigns/send-campaign.ts'
import { subscribe } from '@rapport/core/lists/subscribe.ts'
import { deleteContact } from '@rapport/core/operations/contacts/delete-contact.ts'
import { eraseNextStep } from '@rapport/core/operations/contacts/erase-contact.ts'
import { createTestCampaign, createTestList } from '@rapport/testing/fixtures/factories.ts'
import { useForFile, useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { createTestRedis, withRedis } from '@rapport/testing/redis/redis.ts'
import { expect, test } from 'vitest'
import { parseCommandLine } from './command-line.ts'
import { commands } from './commands.ts'
import { startInProcess } from './testing.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const redis = useForFile(createTestRedis)

interface Found {
  place: string
  rows: number
  reason: string | null
}

async function verify(...persons: string[]) {
  const parsed = await parseCommandLine(commands, ['erasure', 'verify', ...persons, '--json'])
  if ('print' in parsed) throw new Error(parsed.print)
  const environment = { DATABASE_URL: database.url, REDIS_URL: redis.url }
  const { printed, code } = startInProcess(parsed.command, parsed.options, { environment })
  const exitCode = await code
  const { found } = JSON.parse(printed.join('\n')) as { found: Found[] }
  return { exitCode, found }
}

async function erase(id: ContactId) {
  await deleteContact(ctx, id)
  while ((await eraseNextStep(ctx, uuidOf(id))) !== 'done');
}

test('a person erased among a thousand leaves nothing without a reason', async () => {
  const campaign = await createTestCampaign(ctx, { confirmed: 1_000 })
  const { rows } = await database.pool.query<{ email: string }>('select email from contacts order by id limit 1')
  const email = rows[0]?.email ?? ''
  const list = await createTestList(ctx)
  await subscribe(ctx, list.id, { email, firstName: 'Ada', lastName: 'Lovelace' })
  await sendCampaign(ctx, campaign.id)
  const before = await verify(email)
  expect(before.exitCode).toBe(1)
  expect(before.found).toContainEqual({ place: 'contacts.email', rows: 1, reason: null })

  const { id } = (await findContactByEmail(ctx, email)) ?? { id: newId('con') }
  await erase(id)
  const after = await verify(id, email)
  expect(after).toMatchObject({ exitCode: 0 })
  expect(after.found.map(({ place }) => place).toSorted()).toEqual([
    'audit_entries.subject_id',
    'campaign_batches.contact_ids',
    'events.contact_id',
    'events.data',
  ])
})

test.each<[string, (key: string, text: string) => unknown]>([
  ['text', (key, text) => withRedis(redis.url, (client) => client.set(key, `<${text}>`))],
  ['hash', (key, text) => withRedis(redis.url, (client) => client.hset(key, 'data', encodeURIComponent(text)))],
  ['list', (key, text) => withRedis(redis.url, (client) => client.rpush(key, Buffer.from(text).toString('base64')))],
  ['set', (key, text) => withRedis(redis.url, (client) => client.sadd(key, text.toUpperCase()))],
  ['sorted set', (key, text) => withRedis(redis.url, (client) => client.zadd(key, 1, text))],
  ['stream', (key, text) => withRedis(redis.url, (client) => client.xadd(key, '*', 'to', text))],
  ['key', (key, text) => withRedis(redis.url, (client) => client.set(`${key} ${text}`, ''))],
])('an address in Redis is found in a %s', async (type, write) => {
  const email = `grace-${type.replace(' ', '-')}@example.com`
  await write(`test:${type}`, email)
  const { exitCode, found } = await verify(email)
  expect(exitCode).toBe(1)
  expect(found).toEqual([{ place: expect.stringContaining(`Redis test:${type}`), rows: 1, reason: null }])
})

test('a person who is neither a contact nor an address is refused', async () => {
  await expect(parseCommandLine(commands, ['erasure', 'verify', 'ada'])).rejects.toThrow(/must be the id of a contact/)
})
