import { sql } from 'drizzle-orm'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import type { BaseCtx } from '../request/context.ts'
import { AppError } from '../kernel/errors.ts'
import { loginFailures } from '../db/schema/index.ts'
import { testSettings, readMailedToken } from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { purgeLoginFailures } from './login-throttle.ts'
import { requestPasswordReset } from './password-resets.ts'
import { logIn, signUp } from './login.ts'
import { resetPassword } from '../operations/reset-password.ts'

const password = 'a long sentence nobody knows'

const database = useTestDatabase()
let base: BaseCtx
let email = ''
let people = 0
beforeAll(async () => {
  base = { db: database.db, requestId: 'test', settings: testSettings }
})
beforeEach(async () => {
  await database.db.delete(loginFailures)
  email = `ada-${(people += 1)}@example.com`
  await signUp(base, { email, password, name: '' })
})

/** What a try is told: 'in', or the code of the refusal with the seconds to wait. */
async function attempt(address = email, withPassword = 'a wrong password', from = '198.51.100.1'): Promise<string> {
  return logIn({ ...base, address: from }, { email: address, password: withPassword }).then(
    () => 'in',
    (error: unknown) => {
      if (!(error instanceof AppError)) throw error
      return [error.code, error.retryAfterSeconds].join(' ').trim()
    },
  )
}
/** As if so many had failed, the last one so long ago. */
const setFailures = (count: number, secondsAgo: number) =>
  database.db.execute(sql`
    update login_failures set count = ${count}, last_failed_at = now() - make_interval(secs => ${secondsAgo})`)

test('after ten failures an address must wait, known or not, and with the right password too', async () => {
  for (const address of [email, 'nobody@example.com']) {
    for (let count = 0; count < 10; count++) expect(await attempt(address)).toBe('unauthenticated')
    expect(await attempt(address)).toBe('throttled 1')
    expect(await attempt(address.toUpperCase(), password)).toBe('throttled 1')
  }
})

test('each failure doubles the wait, up to a quarter of an hour and never for good', async () => {
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
    await setFailures(count, seconds - 0.5)
    expect(await attempt(email, password)).toBe('throttled 1')
    await setFailures(count, seconds + 0.1)
    expect(await attempt()).toBe('unauthenticated')
  }
  await setFailures(1_000_000, 901)
  expect(await attempt(email, password)).toBe('in')
})

test('a try while waiting does not make the wait longer', async () => {
  await attempt()
  await setFailures(14, 10)
  for (let count = 0; count < 3; count++) expect(await attempt()).toMatch(/^throttled [56]$/)
})

test('the right password forgets the failures, and so does a reset', async () => {
  for (let round = 0; round < 3; round++) {
    for (let count = 0; count < 9; count++) expect(await attempt()).toBe('unauthenticated')
    expect(await attempt(email, password)).toBe('in')
  }
  await attempt()
  await setFailures(20, 0)
  await requestPasswordReset(base, { email })
  const token = await readMailedToken(base, email)
  await resetPassword({ ...base, address: '198.51.100.1' }, { token, password: 'another sentence nobody knows' })
  expect(await attempt(email, 'another sentence nobody knows')).toBe('in')
})

test('who fails on purpose, from however many addresses, holds up nobody who logged in from where they are', async () => {
  const home = '203.0.113.7'
  expect(await attempt(email, password, home)).toBe('in')
  for (let client = 0; client < 60; client++) await attempt(email, 'wrong', `192.0.2.${client}`)
  expect(await attempt(email, 'wrong', '192.0.2.100')).toMatch(/^throttled/)
  expect(await attempt(email, 'wrong', home)).toBe('unauthenticated')
  expect(await attempt(email, password, home)).toBe('in')
  // From elsewhere she waits her turn, as all the world does; but others have not been told by hers that there is one.
  expect(await attempt(email, password, '203.0.113.8')).toMatch(/^throttled/)
  // A reset lets her in from where she did it.
  await requestPasswordReset(base, { email })
  const token = await readMailedToken(base, email)
  await resetPassword({ ...base, address: '203.0.113.8' }, { token, password: 'another sentence nobody knows' })
  expect(await attempt(email, 'another sentence nobody knows', '203.0.113.8')).toBe('in')
})

test('a thousand clients have no more tries than fifty, whether or not the address is known', async () => {
  for (const address of [email, 'nobody@example.com']) {
    const told = []
    for (let client = 0; client < 70; client++) told.push(await attempt(address, 'wrong', `192.0.2.${client}`))
    expect(told.filter((answer) => answer === 'unauthenticated')).toHaveLength(50)
    expect(told.slice(0, 50).every((answer) => answer === 'unauthenticated')).toBe(true)
  }
})

test('one client that fails holds up no other, and a home of IPv6 is one', async () => {
  for (let count = 0; count < 11; count++) await attempt(email, 'wrong', `2001:db8::${count}`)
  expect(await attempt(email, password, '2001:db8::99')).toBe('throttled 1')
  expect(await attempt(email, password, '2001:db8:0:1::1')).toBe('in')
})

test('a client that was known is none any more after ninety days without a log-in', async () => {
  await attempt(email, password)
  await database.db.execute(sql`update login_failures set known_until = now()`)
  for (let client = 0; client < 50; client++) await attempt(email, 'wrong', `192.0.2.${client}`)
  expect(await attempt(email, password)).toBe('throttled 1')
})

test('of forty tries at once ten are looked at; nobody else waits for it', async () => {
  const told = await Promise.all(Array.from({ length: 40 }, () => attempt()))
  expect(told.filter((answer) => answer === 'unauthenticated')).toHaveLength(10)
  expect(told.filter((answer) => answer.startsWith('throttled'))).toHaveLength(30)
  expect(await attempt('another@example.com')).toBe('unauthenticated')
})

test('what nobody looked at, for too many came at once, is no failure', async () => {
  const addresses = Array.from({ length: 80 }, (_, index) => `crowd-${index}@example.com`)
  const told = await Promise.all(addresses.map((address) => attempt(address)))
  const busy = told.filter((answer) => answer === 'unavailable').length
  expect(busy).toBeGreaterThan(0)
  expect(told.filter((answer) => answer === 'unauthenticated')).toHaveLength(80 - busy)
  // Of the client and of all strangers.
  expect(await database.db.$count(loginFailures, sql`count = 0`)).toBe(2 * busy)
})

test('no address is stored, and what is a day old is forgotten', async () => {
  await attempt()
  const rows = await database.db.execute(sql`select t::text as row from login_failures t`)
  expect(JSON.stringify(rows.rows)).not.toContain('example.com')
  await purgeLoginFailures(database.db)
  expect(await database.db.$count(loginFailures)).toBe(2)
  await attempt(email, password, '203.0.113.7')
  await setFailures(5, 86_401)
  await purgeLoginFailures(database.db)
  // That she came from there is remembered for longer.
  expect(await database.db.$count(loginFailures)).toBe(1)
  await database.db.execute(sql`update login_failures set known_until = now() - interval '1 second'`)
  await purgeLoginFailures(database.db)
  expect(await database.db.$count(loginFailures)).toBe(0)
})
