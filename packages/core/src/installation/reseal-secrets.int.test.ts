import { beforeEach, expect, test } from 'vitest'
import type { Ctx } from '../request/context.ts'
import { newId } from '../kernel/ids.ts'
import { deriveKeys, type Keys, unseal } from '../kernel/crypto.ts'
import { createTestEmail, createTestTemplate } from '@rapport/testing/consent/test-emails.ts'
import { createTestCtx, createTestWebhook } from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { resealSecrets } from './reseal-secrets.ts'
import { countUnsignableWebhooks, rotateSecret } from '../webhooks/rotate-secret.ts'
import { deleteWebhook } from '../webhooks/webhooks.ts'
import { addTestDomain } from '@rapport/testing/network/sending-domains.ts'
import { privateKeyOf } from '../domains/domain-keys.ts'
import { readDomainRow } from '../domains/domains.ts'

const [before, after, never] = ['the key before the change', 'the key after the change', 'a key that was lost']
const former = deriveKeys(before)
const current = deriveKeys(after, [before])
const currentOnly = deriveKeys(after)

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

test('current and former secrets can be unsealed with only the new key', async () => {
  const { id, secret: first } = await createTestWebhook(ctx)
  const { secret: second } = await rotateSecret(ctx, id)
  const [old] = await readStored()
  expect(await resealSecrets(database.db, current)).toEqual({ resealed: 1, lost: 0 })
  const [row] = await readStored()
  const [formerSecret] = row?.former_secrets ?? []
  expect(unseal(currentOnly, row?.encrypted_secret ?? '', id)).toBe(second)
  expect(unseal(currentOnly, formerSecret?.encrypted ?? '', id)).toBe(first)
  expect(formerSecret?.until).toBe(old?.former_secrets[0]?.until)
  expect(await countUnsignableWebhooks(database.db, currentOnly)).toBe(0)
})

test('the values of an email that waits are sealed again', async () => {
  const { id } = await createTestEmail(ctx, (await createTestTemplate(ctx)).id)
  expect(await resealSecrets(database.db, current)).toEqual({ resealed: 1, lost: 0 })
  const { rows } = await database.pool.query<{ sealed: string }>('select sealed_data as sealed from emails')
  expect(unseal(currentOnly, rows[0]?.sealed ?? '', id)).toContain('planted-link')
})

test('a former secret is sealed again, and a second run is a no-op', async () => {
  const { id } = await createTestWebhook(ctx)
  await rotateSecret(withKeys(current), id)
  expect(await resealSecrets(database.db, current)).toEqual({ resealed: 1, lost: 0 })
  const rows = await readStored()
  expect(await resealSecrets(database.db, current)).toEqual({ resealed: 0, lost: 0 })
  expect(await readStored()).toEqual(rows)
})

test('a secret under an unknown key is kept and counted until the key is set', async () => {
  const { id, secret } = await createTestWebhook(withKeys(deriveKeys(never)))
  await createTestWebhook(ctx)
  const [lost] = await readStored()
  expect(await resealSecrets(database.db, current)).toEqual({ resealed: 1, lost: 1 })
  expect((await readStored())[0]).toEqual(lost)
  expect(await resealSecrets(database.db, deriveKeys(after, [before, never]))).toEqual({ resealed: 1, lost: 0 })
  expect(unseal(currentOnly, (await readStored())[0]?.encrypted_secret ?? '', id)).toBe(secret)
})

test('all webhooks of all workspaces are sealed in batches, except deleted ones', async () => {
  for (let workspace = 0; workspace < 5; workspace += 1) {
    const other = { ...(await createTestCtx(database.db)), settings: ctx.settings }
    for (let count = 0; count < 50; count += 1) await createTestWebhook(other)
  }
  await deleteWebhook(ctx, (await createTestWebhook(ctx)).id)
  expect(await resealSecrets(database.db, current)).toEqual({ resealed: 250, lost: 0 })
  expect(await countUnsignableWebhooks(database.db, currentOnly)).toBe(0)
})

test('every private key of a domain can be unsealed with only the new key', async () => {
  const { id, keys } = await addTestDomain(ctx, 'engines.example')
  const formerKey = { ...keys.signing, until: new Date().toISOString() }
  await addTestDomain(ctx, 'looms.example', { id: newId('dom'), keys: { ...keys, former: formerKey } })
  const privateKeys = [keys.signing, keys.next].map((key) => privateKeyOf(former, id, key))
  expect(await resealSecrets(database.db, current)).toEqual({ resealed: 1, lost: 1 })
  const { keys: resealed } = await readDomainRow(ctx, id)
  expect([resealed.signing, resealed.next].map((key) => privateKeyOf(currentOnly, id, key))).toEqual(privateKeys)
  expect(await resealSecrets(database.db, current)).toEqual({ resealed: 0, lost: 1 })
})
