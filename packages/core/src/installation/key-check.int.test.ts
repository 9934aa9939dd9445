import { createTestCtx, createTestWebhook } from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { installation } from '../db/schema/index.ts'
import { deriveKeys, type Keys } from '../kernel/crypto.ts'
import { ConfigError } from '../runtime/config.ts'
import { deleteWebhook } from '../webhooks/webhooks.ts'
import { readKeyState, requireSecretKey, sealKeyCheck } from './key-check.ts'

const database = useTestDatabase()
const [first, second] = ['the key of the first start', 'the key after a rotation']
const former = deriveKeys(first)
const current = deriveKeys(second)
const both = deriveKeys(second, [first])
const wrong = deriveKeys('the key of another installation')

beforeEach(() => database.pool.query('truncate workspaces, installation cascade'))

const start = (keys: Keys) => requireSecretKey(database.db, keys)
const stateOf = (keys: Keys) => readKeyState(database.db, keys)
const readSealed = async () => (await database.db.select().from(installation)).map(({ sealedCheck }) => sealedCheck)
const createWebhook = async (keys: Keys) => {
  const ctx = await createTestCtx(database.db, { settings: { keys } })
  return { ctx, ...(await createTestWebhook(ctx)) }
}

test('the first start seals a value, and later starts open it and keep it', async () => {
  expect(await stateOf(former)).toBe('unsealed')
  await start(former)
  const sealed = await readSealed()
  expect(sealed).toHaveLength(1)
  expect(await stateOf(former)).toBe('current')
  await start(former)
  expect(await readSealed()).toEqual(sealed)
})

test('a wrong key is rejected with the names of the variables, and changes nothing', async () => {
  await start(former)
  const sealed = await readSealed()
  expect(await stateOf(wrong)).toBe('wrong')
  await expect(start(wrong)).rejects.toThrow(ConfigError)
  await expect(start(wrong)).rejects.toThrow(/^Invalid configuration:\n {2}SECRET_KEY: [^\n]+$/)
  await expect(start(deriveKeys(second, ['a key that was never used']))).rejects.toThrow(
    /\n {2}SECRET_KEY: .+\n {2}SECRET_KEY_PREVIOUS: /,
  )
  expect(await readSealed()).toEqual(sealed)
})

test('a changed value is rejected, although it has the id of the key', async () => {
  await start(former)
  await database.pool.query(`update installation set sealed_check = split_part(sealed_check, '.', 1) || '.AA.AA.AA'`)
  expect(await stateOf(former)).toBe('wrong')
})

test('after a rotation, a start seals the value with the new key', async () => {
  await start(former)
  expect(await stateOf(both)).toBe('former')
  await expect(start(current)).rejects.toThrow('SECRET_KEY: ')
  await start(both)
  expect(await stateOf(current)).toBe('current')
  await expect(start(former)).rejects.toThrow('SECRET_KEY: ')
})

test('a lost key can be replaced', async () => {
  await start(former)
  await sealKeyCheck(database.db, current)
  expect(await stateOf(current)).toBe('current')
  expect(await readSealed()).toHaveLength(1)
})

describe('two first starts at once', () => {
  /** Inserts can only start when both have read that the value is missing. */
  const startBoth = async (one: Keys, other: Keys) => {
    const blocking = await openTransaction(database.db, (db) => db.execute('lock table installation in share mode'))
    const results = Promise.allSettled([start(one), start(other)])
    await waitUntilBlocked(database.db, 2)
    await blocking.commit()
    return (await results).map(({ status }) => status).toSorted()
  }

  test('with one key both run', async () => {
    expect(await startBoth(former, former)).toEqual(['fulfilled', 'fulfilled'])
    expect(await readSealed()).toHaveLength(1)
  })

  test('with two keys one of them is rejected', async () => {
    expect(await startBoth(former, wrong)).toEqual(['fulfilled', 'rejected'])
    expect(await readSealed()).toHaveLength(1)
  })
})

describe('the first start of an installation with webhooks', () => {
  test('is rejected with a key that opens none of their secrets', async () => {
    const { ctx, id } = await createWebhook(former)
    expect(await stateOf(wrong)).toBe('wrong')
    await expect(start(wrong)).rejects.toThrow('SECRET_KEY: ')
    expect(await readSealed()).toEqual([])
    await deleteWebhook(ctx, id)
    expect(await stateOf(wrong)).toBe('unsealed')
  })

  test.each([
    ['the key', former],
    ['the key as a former one', both],
  ])('is accepted with %s of one of them', async (_name, keys) => {
    await createWebhook(wrong)
    await createWebhook(former)
    await createWebhook(wrong)
    await start(keys)
    expect(await stateOf(keys)).toBe('current')
  })
})
