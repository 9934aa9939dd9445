import { sql } from 'drizzle-orm'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import type { BaseCtx } from '../request/context.ts'
import { AppError } from '../kernel/errors.ts'
import { loginFailures } from '../db/schema/index.ts'
import { testSettings, readMailedToken } from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { purgeLoginFailures } from './login-throttle.ts'
import { requestPasswordReset } from './password-resets.ts'
import { logIn, signUp } from './login.ts'
import { verifyPassword } from './passwords.ts'
import { resetPassword } from '../operations/mail/reset-password.ts'

const password = 'a long sentence that is hard to guess'

const database = useTestDatabase()
let base: BaseCtx
let email = ''
let userCount = 0
beforeAll(async () => {
  base = { db: database.db, requestId: 'test', settings: testSettings }
})
beforeEach(async () => {
  await database.db.delete(loginFailures)
  email = `ada-${(userCount += 1)}@example.com`
  await signUp(base, { email, password, name: '' })
})

/** Returns 'in', or the error code with the seconds to wait. */
async function attempt(address = email, withPassword = 'a wrong password', from = '198.51.100.1'): Promise<string> {
  return logIn({ ...base, address: from }, { email: address, password: withPassword }).then(
    () => 'in',
    (error: unknown) => {
      if (!(error instanceof AppError)) throw error
      return [error.code, error.retryAfterSeconds].join(' ').trim()
    },
  )
}
/** Sets the number of failures and the time of the last one. */
const setFailures = (count: number, secondsAgo: number) =>
  database.db.execute(sql`
    update login_failures set count = ${count}, last_failed_at = now() - make_interval(secs => ${secondsAgo})`)
/** So that no wait ends before the next attempt, however long that takes. */
const extendWaits = () =>
  database.db.execute(sql`update login_failures set last_failed_at = now() + interval '1 minute'`)

test('throttles an email after ten failures, even with the right password', async () => {
  for (const address of [email, 'unknown@example.com']) {
    for (let count = 0; count < 10; count++) expect(await attempt(address)).toBe('unauthorized')
    await extendWaits()
    expect(await attempt(address)).toMatch(/^rate_limited/)
    expect(await attempt(address.toUpperCase(), password)).toMatch(/^rate_limited/)
  }
})

test('each failure doubles the wait, up to 15 minutes', async () => {
  await attempt()
  for (const [count, seconds] of [
    [10, 1],
    [11, 2],
    [14, 16],
    [19, 512],
    [20, 900],
    [21, 900],
    [1_000_000, 900],
  ] as const) {
    const attemptInLastSeconds = async () => {
      await setFailures(count, seconds - 30)
      return attempt(email, password)
    }
    // A busy machine may use up a second first.
    await waitUntil(async () => (await attemptInLastSeconds()) === 'rate_limited 30', { describe: 'the wait ends' })
    await setFailures(count, seconds + 0.1)
    expect(await attempt()).toBe('unauthorized')
  }
  await setFailures(1_000_000, 901)
  expect(await attempt(email, password)).toBe('in')
})

test('an attempt during the wait does not extend it', async () => {
  await attempt()
  await setFailures(14, 10)
  for (let count = 0; count < 3; count++) expect(await attempt()).toMatch(/^rate_limited [56]$/)
})

test('a successful login or a password reset clears the failures', async () => {
  for (let round = 0; round < 3; round++) {
    for (let count = 0; count < 9; count++) expect(await attempt()).toBe('unauthorized')
    expect(await attempt(email, password)).toBe('in')
  }
  await attempt()
  await setFailures(20, 0)
  await requestPasswordReset(base, { email })
  const token = await readMailedToken(base, email)
  await resetPassword(
    { ...base, address: '198.51.100.1' },
    { token, password: 'another sentence that is hard to guess' },
  )
  expect(await attempt(email, 'another sentence that is hard to guess')).toBe('in')
})

test('failures of other clients do not throttle a client that has logged in', async () => {
  const knownAddress = '203.0.113.7'
  expect(await attempt(email, password, knownAddress)).toBe('in')
  for (let client = 0; client < 50; client++) await attempt(email, 'wrong', `192.0.2.${client}`)
  await extendWaits()
  expect(await attempt(email, 'wrong', '192.0.2.100')).toMatch(/^rate_limited/)
  expect(await attempt(email, 'wrong', knownAddress)).toBe('unauthorized')
  expect(await attempt(email, password, knownAddress)).toBe('in')
  // An unknown client must wait, even with the right password.
  expect(await attempt(email, password, '203.0.113.8')).toMatch(/^rate_limited/)
  // A password reset makes its client known.
  await requestPasswordReset(base, { email })
  const token = await readMailedToken(base, email)
  await resetPassword(
    { ...base, address: '203.0.113.8' },
    { token, password: 'another sentence that is hard to guess' },
  )
  expect(await attempt(email, 'another sentence that is hard to guess', '203.0.113.8')).toBe('in')
})

test('all unknown clients share fifty attempts, even for an unknown email', async () => {
  for (const address of [email, 'unknown@example.com']) {
    const attemptFrom = (client: number) => attempt(address, 'wrong', `192.0.2.${client}`)
    for (let client = 0; client < 50; client++) expect(await attemptFrom(client)).toBe('unauthorized')
    await extendWaits()
    for (let client = 50; client < 70; client++) expect(await attemptFrom(client)).toMatch(/^rate_limited/)
  }
})

test('throttles one client only, and an IPv6 network is one client', async () => {
  for (let count = 0; count < 10; count++) await attempt(email, 'wrong', `2001:db8::${count}`)
  await extendWaits()
  expect(await attempt(email, password, '2001:db8::99')).toMatch(/^rate_limited/)
  expect(await attempt(email, password, '2001:db8:0:1::1')).toBe('in')
})

test('a client is unknown again after 90 days without a login', async () => {
  await attempt(email, password)
  await database.db.execute(sql`update login_failures set known_until = now()`)
  for (let client = 0; client < 50; client++) await attempt(email, 'wrong', `192.0.2.${client}`)
  await extendWaits()
  expect(await attempt(email, password)).toMatch(/^rate_limited/)
})

test('verifies ten of forty concurrent attempts, and throttles no other email', async () => {
  const outcomes = await Promise.all(Array.from({ length: 40 }, () => attempt()))
  expect(outcomes.filter((outcome) => outcome === 'unauthorized')).toHaveLength(10)
  expect(outcomes.filter((outcome) => outcome.startsWith('rate_limited'))).toHaveLength(30)
  expect(await attempt('another@example.com')).toBe('unauthorized')
})

test('an attempt that is rejected for lack of capacity is not a failure', async () => {
  const addresses = Array.from({ length: 80 }, (_, index) => `crowd-${index}@example.com`)
  const outcomes = await Promise.all(addresses.map((address) => attempt(address)))
  const busy = outcomes.filter((outcome) => outcome === 'unavailable').length
  expect(busy).toBeGreaterThan(0)
  expect(outcomes.filter((outcome) => outcome === 'unauthorized')).toHaveLength(80 - busy)
  // One counter of the client, and one of all unknown clients.
  expect(await database.db.$count(loginFailures, sql`count = 0`)).toBe(2 * busy)
})

test('a flood of unknown clients does not keep a known client from logging in', async () => {
  const knownAddress = '203.0.113.7'
  expect(await attempt(email, password, knownAddress)).toBe('in')
  const flooding = new AbortController()
  const keepGuessing = async () => {
    while (!flooding.signal.aborted) await verifyPassword(undefined, 'a wrong password')
  }
  // As many as may run or wait.
  const flood = Array.from({ length: 34 }, keepGuessing)
  expect(await attempt(email, password)).toBe('unavailable')
  const known = Array.from({ length: 5 }, () => attempt(email, password, knownAddress))
  expect(await Promise.all(known)).toEqual(['in', 'in', 'in', 'in', 'in'])
  expect(await attempt(email, password)).toBe('unavailable')
  flooding.abort()
  await Promise.all(flood)
})

test('stores no email address, and purges failures older than a day', async () => {
  await attempt()
  const rows = await database.db.execute(sql`select t::text as row from login_failures t`)
  expect(JSON.stringify(rows.rows)).not.toContain('example.com')
  await purgeLoginFailures(database.db)
  expect(await database.db.$count(loginFailures)).toBe(2)
  await attempt(email, password, '203.0.113.7')
  await setFailures(5, 86_401)
  await purgeLoginFailures(database.db)
  // The known client remains.
  expect(await database.db.$count(loginFailures)).toBe(1)
  await database.db.execute(sql`update login_failures set known_until = now() - interval '1 second'`)
  await purgeLoginFailures(database.db)
  expect(await database.db.$count(loginFailures)).toBe(0)
})
