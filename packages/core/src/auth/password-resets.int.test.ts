import { and, eq, sql } from 'drizzle-orm'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import type { BaseCtx, Ctx } from '../request/context.ts'
import { idOf, newId, type UserId } from '../kernel/ids.ts'
import { mails, passwordResets, sessions, users } from '../db/schema/index.ts'
import { deriveKeys, deriveMailToken } from '../kernel/crypto.ts'
import { createTestCtx, readMailedToken } from '@rapport/testing/fixtures/factories.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import {
  inspectPasswordReset,
  requestPasswordReset,
  purgePasswordResets,
  renderPasswordResetMail,
} from './password-resets.ts'
import { logIn, purgeSessions, signUp } from './login.ts'
import { defaultPasswordCost } from './passwords.ts'
import { resetPassword } from '../operations/mail/reset-password.ts'

const [oldPassword, password] = ['a long sentence that is hard to guess', 'another sentence that is hard to guess']

const database = useTestDatabase()
let ctx: Ctx
let base: BaseCtx
let email = ''
let userId: UserId
let userCount = 0
beforeAll(async () => {
  ctx = await createTestCtx(database.db)
  base = ctx
})
beforeEach(async () => {
  email = `ada-${(userCount += 1)}@example.com`
  const { user } = await signUp(base, { email, password: oldPassword, name: '' })
  userId = user.id
})

const ownResets = () => database.db.select().from(passwordResets).where(eq(passwordResets.userId, userId))
const isReset = () => and(eq(mails.toAddress, email), eq(mails.kind, 'PASSWORD_RESET'))
const countMails = () => database.db.$count(mails, isReset())

/** Requests a reset and returns the token of its link. */
async function requestToken(): Promise<string> {
  const before = (await ownResets()).map(({ id }) => id)
  await requestPasswordReset(base, { email })
  const made = (await ownResets()).find(({ id }) => !before.includes(id))
  return deriveMailToken(base.settings.keys, 'rpr', made?.id ?? idOf('rst', '00000000-0000-7000-8000-000000000000'))
}

/** Counts the successful attempts and collects the distinct error messages. */
async function race(attempts: Promise<unknown>[]) {
  const ended = await Promise.allSettled(attempts)
  const reasons = ended.flatMap((end) => (end.status === 'rejected' ? [(end.reason as Error).message] : []))
  return { succeeded: ended.length - reasons.length, reasons: [...new Set(reasons)].toSorted() }
}

test('a token sets the password once', async () => {
  const token = await requestToken()
  await resetPassword(base, { token, password })
  await expect(logIn(base, { email, password: oldPassword })).rejects.toThrow('Invalid email or password')
  await logIn(base, { email, password })
  await expect(resetPassword(base, { token, password: oldPassword })).rejects.toThrow('Invalid or expired token')
  await logIn(base, { email, password })
})

test('inspecting a token names the account and its workspace, and changes nothing', async () => {
  const token = await requestToken()
  const before = await ownResets()
  const inspect = () => inspectPasswordReset(base, token)
  expect(await inspect()).toEqual({
    email,
    branding: { name: `${email.split('@')[0]}'s workspace`, logoUrl: null, accentColor: null },
  })
  expect(await ownResets()).toEqual(before)
  await resetPassword(base, { token, password })
  await expect(inspect()).rejects.toThrow('Invalid or expired token')
  await expect(inspectPasswordReset(base, '')).rejects.toThrow('Invalid or expired token')
})

test('a waiting link survives a change of SECRET_KEY if the former key is known', async () => {
  await requestToken()
  const after = 'the secret that replaces the former one'
  const withKeys = (keys: Ctx['settings']['keys']) => ({ ...base, settings: { ...base.settings, keys } })
  expect(await readMailedToken(withKeys(deriveKeys(after)), email)).toContain('no mail')
  const changed = withKeys(deriveKeys(after, ['a secret that is known to every test']))
  await resetPassword(changed, { token: await readMailedToken(changed, email), password })
  await logIn(base, { email, password })
})

test('one of two hundred concurrent uses of a token succeeds', async () => {
  const token = await requestToken()
  // Cheap hashes would not fill the queue.
  const costly = { ...base, settings: { ...base.settings, passwordCost: defaultPasswordCost } }
  const attempts = Array.from({ length: 200 }, (_, count) =>
    resetPassword(costly, { token, password: `${password} ${count}` }),
  )
  expect(await race(attempts)).toEqual({
    succeeded: 1,
    reasons: ['Invalid or expired token', 'Too many concurrent password checks; try again'],
  })
})

test('one of two tokens used concurrently succeeds and invalidates the other', async () => {
  const tokens = [await requestToken(), await requestToken()]
  expect(await race(tokens.map((token) => resetPassword(base, { token, password })))).toEqual({
    succeeded: 1,
    reasons: ['Invalid or expired token'],
  })
})

test('a token expires after an hour or when another token is used', async () => {
  const [old, unused, used] = [await requestToken(), await requestToken(), await requestToken()]
  await database.db
    .update(passwordResets)
    .set({ expiresAt: sql`now()` })
    .where(eq(passwordResets.id, (await ownResets())[0]?.id ?? newId('rst')))
  await expect(resetPassword(base, { token: old, password })).rejects.toThrow('Invalid or expired token')
  await resetPassword(base, { token: used, password })
  await expect(resetPassword(base, { token: unused, password })).rejects.toThrow('Invalid or expired token')
})

test('a rejected password does not use up the token', async () => {
  const token = await requestToken()
  for (const weak of ['1q2w3e4r5t6y', email]) {
    await expect(resetPassword(base, { token, password: weak })).rejects.toThrow('is too common')
  }
  await resetPassword(base, { token, password })
})

test('ends every session of the user and no other session', async () => {
  await logIn(base, { email, password: oldPassword })
  const otherUser = await signUp(base, { email: `eve-${userCount}@example.com`, password: oldPassword, name: '' })
  await resetPassword(base, { token: await requestToken(), password })
  expect(await database.db.$count(sessions, eq(sessions.userId, userId))).toBe(0)
  expect(await database.db.$count(sessions, eq(sessions.userId, otherUser.user.id))).toBe(1)
})

test('the old password opens no session after a concurrent reset', async () => {
  const token = await requestToken()
  const resetting = await openTransaction(database.db, (db) => resetPassword({ ...base, db }, { token, password }))
  // From another address: the counters of wrong passwords do not wait for the reset.
  const login = race([logIn({ ...base, address: '203.0.113.9' }, { email, password: oldPassword })])
  await waitUntilBlocked(database.db)
  await resetting.commit()
  expect(await login).toEqual({ succeeded: 0, reasons: ['Invalid email or password'] })
  expect(await database.db.$count(sessions, eq(sessions.userId, userId))).toBe(0)
})

test('sends at most three emails an hour, even for concurrent requests', async () => {
  await Promise.all(Array.from({ length: 8 }, () => requestPasswordReset(base, { email: email.toUpperCase() })))
  expect(await countMails()).toBe(3)
  const [first] = await ownResets()
  await resetPassword(base, { token: deriveMailToken(base.settings.keys, 'rpr', first?.id ?? ''), password })
  await requestPasswordReset(base, { email })
  expect(await countMails()).toBe(3)
  // Moves the resets more than an hour into the past.
  await database.db
    .update(passwordResets)
    .set({ createdAt: sql`now() - interval '61 minutes'`, expiresAt: sql`now() - interval '61 minutes'` })
    .where(eq(passwordResets.userId, userId))
  await requestPasswordReset(base, { email })
  expect(await countMails()).toBe(4)
})

test('writes and sends nothing for an unknown address', async () => {
  const count = () =>
    Promise.all([database.db.$count(mails), database.db.$count(passwordResets), database.db.$count(users)])
  const before = await count()
  await requestPasswordReset(base, { email: 'unknown@example.com' })
  expect(await count()).toEqual(before)
})

test('the database contains no usable token', async () => {
  const token = await requestToken()
  const stored = await ownResets()
  const tables = await database.db.execute(sql`
    select (select json_agg(t) from password_resets t)::text || (select json_agg(t) from mails t)::text ||
      (select json_agg(t) from work t)::text as text`)
  expect(JSON.stringify(tables.rows)).not.toContain(token)
  for (const { tokenHash, id } of stored) {
    for (const guess of [tokenHash, id, `rpr_${tokenHash}`]) {
      await expect(resetPassword(base, { token: guess, password })).rejects.toThrow('Invalid or expired token')
    }
  }
})

test('renders the same link each time, and nothing once the token is used', async () => {
  const token = await requestToken()
  const [mail] = await database.db.select().from(mails).where(isReset())
  if (!mail) throw new Error('There is no mail')
  const rendered = await renderPasswordResetMail(ctx, mail)
  for (const part of [rendered?.html, rendered?.text])
    expect(part).toContain(`https://crm.example.com/reset-password?token=${token}`)
  expect(await renderPasswordResetMail(ctx, mail)).toEqual(rendered)
  expect(rendered).toMatchObject({ to: { name: '', address: email }, from: { address: 'newsletter@example.com' } })
  await resetPassword(base, { token, password })
  expect(await renderPasswordResetMail(ctx, mail)).toBeUndefined()
})

test('purges expired resets and keeps those that count towards the limit', async () => {
  await requestToken()
  await requestToken()
  const [old] = await ownResets()
  await database.db
    .update(passwordResets)
    .set({ expiresAt: sql`now() - interval '61 minutes'` })
    .where(eq(passwordResets.id, old?.id ?? newId('rst')))
  await purgePasswordResets(database.db)
  expect((await ownResets()).map(({ id }) => id)).toEqual([expect.not.stringMatching(old?.id ?? 'none')])
})

test('sign-ups, requests of resets and purges run at the same time', async () => {
  const work = Array.from({ length: 4 }, (_, n) => [
    signUp(base, { email: `eve-${n}@example.com`, password, name: '' }),
    requestPasswordReset(base, { email }),
    purgeSessions(database.db),
    purgePasswordResets(database.db),
  ])
  const results = await Promise.allSettled(work.flat())
  expect(results.filter(({ status }) => status === 'rejected')).toEqual([])
})
