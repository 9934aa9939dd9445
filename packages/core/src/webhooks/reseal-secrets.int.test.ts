import { beforeEach, expect, test } from 'vitest'
import type { Ctx } from '../request/context.ts'
import { deriveKeys, type Keys, unseal } from '../kernel/crypto.ts'
import { createTestCtx, createTestWebhook } from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { resealSecrets } from './reseal-secrets.ts'
import { countUnsignableWebhooks, rotateSecret } from './rotate-secret.ts'
import { deleteWebhook } from './webhooks.ts'

const [before, after, never] = ['the key before the change', 'the key after the change', 'a key that was lost by now']
const former = deriveKeys(before)
const present = deriveKeys(after, [before])
const presentAlone = deriveKeys(after)

const database = useTestDatabase()
let ctx: Ctx
beforeEach(async () => {
  await database.pool.query('truncate workspaces cascade')
  ctx = await createTestCtx(database.db, { settings: { keys: former } })
})

interface Stored {
  encrypted_secret: string
  former_secrets: { encrypted: string; until: string }[]
}
const readStored = async () =>
  (await database.pool.query<Stored>('select encrypted_secret, former_secrets from webhooks order by id')).rows
const withKeys = (keys: Keys): Ctx => ({ ...ctx, settings: { ...ctx.settings, keys } })

test('secrets, and those that still sign beside them, open under the new key alone, as what they were', async () => {
  const { id, secret: first } = await createTestWebhook(ctx)
  const { secret: second } = await rotateSecret(ctx, id)
  const [old] = await readStored()
  expect(await resealSecrets(database.db, present)).toEqual({ resealed: 1, lost: 0 })
  const [row] = await readStored()
  const [beside] = row?.former_secrets ?? []
  expect(unseal(presentAlone, row?.encrypted_secret ?? '', id)).toBe(second)
  expect(unseal(presentAlone, beside?.encrypted ?? '', id)).toBe(first)
  expect(beside?.until).toBe(old?.former_secrets[0]?.until)
  expect(await countUnsignableWebhooks(database.db, presentAlone)).toBe(0)
})

test('a second time there is nothing to do, and one whose former secret alone is under the old key is done', async () => {
  const { id } = await createTestWebhook(ctx)
  await rotateSecret(withKeys(present), id)
  expect(await resealSecrets(database.db, present)).toEqual({ resealed: 1, lost: 0 })
  const rows = await readStored()
  expect(await resealSecrets(database.db, present)).toEqual({ resealed: 0, lost: 0 })
  expect(await readStored()).toEqual(rows)
})

test('a secret under a key that is not named is left as it is and told, and opens once the key is named', async () => {
  const { id, secret } = await createTestWebhook(withKeys(deriveKeys(never)))
  await createTestWebhook(ctx)
  const [lost] = await readStored()
  expect(await resealSecrets(database.db, present)).toEqual({ resealed: 1, lost: 1 })
  expect((await readStored())[0]).toEqual(lost)
  expect(await resealSecrets(database.db, deriveKeys(after, [before, never]))).toEqual({ resealed: 1, lost: 0 })
  expect(unseal(presentAlone, (await readStored())[0]?.encrypted_secret ?? '', id)).toBe(secret)
})

test('all webhooks of all workspaces are done, though only some at once, but those that are deleted', async () => {
  for (let workspace = 0; workspace < 5; workspace += 1) {
    const other = { ...(await createTestCtx(database.db)), settings: ctx.settings }
    for (let count = 0; count < 50; count += 1) await createTestWebhook(other)
  }
  await deleteWebhook(ctx, (await createTestWebhook(ctx)).id)
  expect(await resealSecrets(database.db, present)).toEqual({ resealed: 250, lost: 0 })
  expect(await countUnsignableWebhooks(database.db, presentAlone)).toBe(0)
})
