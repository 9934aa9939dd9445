/** The API as a process, with a SECRET_KEY that is not the key of the database, and before the migrations. */
import { requireSecretKey } from '@rapport/core/installation/key-check.ts'
import { deriveKeys } from '@rapport/core/kernel/crypto.ts'
import { newId } from '@rapport/core/kernel/ids.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { startTestProxy } from '@rapport/testing/network/proxy.ts'
import { createEmptyDatabase } from '@rapport/testing/postgres/database.ts'
import { startProcess } from '@rapport/testing/processes/processes.ts'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { apiScript, startApiProcess } from '../test/api-process.ts'
import { testEnvironment } from '../test/testing.ts'

const database = useTestDatabase()
const right = 'dGhlIGtleSBvZiB0aGlzIGluc3RhbGxhdGlvbiBoZXJl'
const wrong = { SECRET_KEY: 'dGhlIGtleSBvZiBhbm90aGVyIGluc3RhbGxhdGlvbg==' }
beforeEach(async () => {
  await database.pool.query('truncate installation')
  await requireSecretKey(database.db, deriveKeys(right))
})

const start = (environment: Record<string, string>) => startApiProcess(database.url, environment)

/** Reads the database: 404 shows that it is used. */
const readForm = async (url: string) => (await fetch(`${url}/public/forms/${newId('frm')}`)).status

test('a wrong SECRET_KEY exits with 78 and names the variables', async () => {
  const env = { ...testEnvironment(database.url), ...wrong, SECRET_KEY_PREVIOUS: wrong.SECRET_KEY }
  const main = await startProcess({ script: apiScript, env })
  expect(await main.exited).toEqual({ code: 78, signal: null })
  const names = main.stderr().matchAll(/^ {2}(\w+): /gm)
  expect([...names].map(([, name]) => name)).toEqual(['SECRET_KEY', 'SECRET_KEY_PREVIOUS'])
  expect(main.stderr()).not.toMatch(/\bat \S+ \(|node_modules/)
})

test('without PostgreSQL, a wrong SECRET_KEY responds with 503, and then exits with 78', async () => {
  const proxy = await startTestProxy(database.url)
  onTestFinished(() => proxy.close())
  proxy.cut(/[^]/)
  const { main, url } = await start({ DATABASE_URL: proxy.url, ...wrong })
  expect(await readForm(url)).toBe(503)
  proxy.cut(undefined)
  await expect(readForm(url)).rejects.toThrow()
  expect(await main.exited).toEqual({ code: 78, signal: null })
  expect(main.stderr()).toContain('  SECRET_KEY: is not the key of this database')
})

test('the key of the database in SECRET_KEY_PREVIOUS is accepted', async () => {
  const { main, url } = await start({ ...wrong, SECRET_KEY_PREVIOUS: right })
  expect(await readForm(url)).toBe(404)
  main.kill()
  expect(await main.exited).toEqual({ code: 0, signal: null })
})

test('before the migrations, the API is not ready and says why', async () => {
  const empty = await createEmptyDatabase()
  onTestFinished(() => empty.close())
  const { main, url } = await start({ DATABASE_URL: empty.url })
  const response = await fetch(`${url}/ready`)
  expect([response.status, await response.json()]).toMatchObject([503, { parts: { database: 'migrations pending' } }])
  main.kill()
  await main.exited
})
