import { requireSecretKey } from '@rapport/core/installation/key-check.ts'
import { deriveKeys } from '@rapport/core/kernel/crypto.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { runDoctor } from './testing.ts'

const key = 'a secret that is known to every test'
const database = useTestDatabase()

test('the doctor fails if SECRET_KEY is not the key that the database was sealed with', async () => {
  await requireSecretKey(database.db, deriveKeys(key))
  const examine = (env: Record<string, string> = {}) => runDoctor({ DATABASE_URL: database.url, ...env })
  expect((await examine())('SECRET_KEY')).toEqual([
    'ok: looks random',
    'fail: is not the key of this database: the API and the worker exit with code 78',
  ])
  expect((await examine({ SECRET_KEY_PREVIOUS: key }))('SECRET_KEY')).toEqual(['ok: looks random'])
})
