import { countLostRows } from '@rapport/core/consent/lost-rows.ts'
import { deriveKeys } from '@rapport/core/kernel/crypto.ts'
import { optOutContact } from '@rapport/core/operations/contacts/opt-out-contact.ts'
import { removeSubscriber } from '@rapport/core/lists/subscribers.ts'
import { suppress } from '@rapport/core/suppressions/suppress.ts'
import { addSubscribers, createTestCtx, createTestList } from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { runDoctor } from './testing.ts'

const key = 'a secret that is known to every test'
const database = useTestDatabase()

test('the doctor counts the endings that no row explains, in chunks', async () => {
  const ctx = await createTestCtx(database.db)
  const { id: listId } = await createTestList(ctx)
  const ids = await addSubscribers(ctx, listId, { count: 7, name: 'lost' })
  for (const id of ids.slice(0, 5)) await optOutContact(ctx, id, {})
  await removeSubscriber(ctx, listId, ids[5] as (typeof ids)[0])
  await suppress(ctx, [{ email: 'lost-7@example.com', reason: 'BOUNCED', source: 'API' }], { emitsEvents: true })
  const examine = async (env: Record<string, string>) =>
    (await runDoctor({ DATABASE_URL: database.url, ...env }))('Consent')
  expect(await examine({ SECRET_KEY: key })).toEqual(['ok: each subscription that ended says why'])
  expect(await examine({ SECRET_KEY_PREVIOUS: key })).toEqual(['ok: each subscription that ended says why'])
  expect(await examine({})).toEqual([
    'warn: 6 subscriptions ended, and no key of this installation reads why (wants widening, or lost key)',
  ])
  const search = { keys: deriveKeys('a key of another installation'), timeoutMs: 60_000 }
  for (const chunkSize of [1, 2, 3, 6, 7])
    expect(await countLostRows(database.db, { ...search, chunkSize })).toEqual({ count: 6, isIncomplete: false })
  expect(await countLostRows(database.db, { ...search, timeoutMs: 0 })).toEqual({ count: 0, isIncomplete: true })
})
