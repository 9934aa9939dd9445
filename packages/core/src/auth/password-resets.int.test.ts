import { and, eq, sql } from 'drizzle-orm'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import type { BaseCtx, Ctx } from '../request/context.ts'
import { idOf, newId, type UserId } from '../kernel/ids.ts'
import { mails, passwordResets, sessions, users } from '../db/schema/index.ts'
import { deriveKeys, deriveMailToken } from '../kernel/crypto.ts'
import { createTestCtx, readMailedToken } from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { requestPasswordReset, purgePasswordResets, renderPasswordResetMail } from './password-resets.ts'
import { logIn, signUp } from './login.ts'
import { resetPassword } from '../operations/reset-password.ts'

const [oldPassword, password] = ['a long sentence nobody knows', 'another sentence nobody knows']

const database = useTestDatabase()
let ctx: Ctx
let base: BaseCtx
let email = ''
let userId: UserId
let people = 0
beforeAll(async () => {
  ctx = await createTestCtx(database.db)
  base = ctx
})
beforeEach(async () => {
  email = `ada-${(people += 1)}@example.com`
  const { user } = await signUp(base, { email, password: oldPassword, name: '' })
  userId = user.id
})

const ownResets = () => database.db.select().from(passwordResets).where(eq(passwordResets.userId, userId))
const isReset = () => and(eq(mails.toAddress, email), eq(mails.kind, 'PASSWORD_RESET'))
const countMails = () => database.db.$count(mails, isReset())

/** Asks for a link and answers the token in it. */
async function ask(): Promise<string> {
  const before = (await ownResets()).map(({ id }) => id)
  await requestPasswordReset(base, { email })
  const made = (await ownResets()).find(({ id }) => !before.includes(id))
  return deriveMailToken(base.settings.keys, 'rpr', made?.id ?? idOf('rst', '00000000-0000-7000-8000-000000000000'))
}

/** How many succeeded, and what the others were told, each once. */
async function race(attempts: Promise<unknown>[]) {
  const ended = await Promise.allSettled(attempts)
  const reasons = ended.flatMap((end) => (end.status === 'rejected' ? [(end.reason as Error).message] : []))
  return { succeeded: ended.length - reasons.length, reasons: [...new Set(reasons)].toSorted() }
}

test('a token sets the password, once', async () => {
  const token = await ask()
  await resetPassword(base, { token, password })
  await expect(logIn(base, { email, password: oldPassword })).rejects.toThrow('Invalid email or password')
  await logIn(base, { email, password })
  await expect(resetPassword(base, { token, password: oldPassword })).rejects.toThrow('Invalid or expired token')
  await logIn(base, { email, password })
})

test('the link of a mail that waited while SECRET_KEY changed is good; without the former key there is no mail', async () => {
  await ask()
  const after = 'the secret that came after it, at night'
  const withKeys = (keys: Ctx['settings']['keys']) => ({ ...base, settings: { ...base.settings, keys } })
  expect(await readMailedToken(withKeys(deriveKeys(after)), email)).toContain('no mail')
  const changed = withKeys(deriveKeys(after, ['a secret that is known to every test']))
  await resetPassword(changed, { token: await readMailedToken(changed, email), password })
  await logIn(base, { email, password })
})

test('of two hundred uses of one token at once, exactly one succeeds', async () => {
  const token = await ask()
  const attempts = Array.from({ length: 200 }, (_, count) =>
    resetPassword(base, { token, password: `${password} ${count}` }),
  )
  expect(await race(attempts)).toEqual({
    succeeded: 1,
    reasons: ['Invalid or expired token', 'Too many passwords at once, try again'],
  })
})

test('of two tokens of one person used at once, one succeeds and kills the other', async () => {
  const tokens = [await ask(), await ask()]
  expect(await race(tokens.map((token) => resetPassword(base, { token, password })))).toEqual({
    succeeded: 1,
    reasons: ['Invalid or expired token'],
  })
})

test('a token is dead after an hour, and when another one was used', async () => {
  const [old, unused, used] = [await ask(), await ask(), await ask()]
  await database.db
    .update(passwordResets)
    .set({ expiresAt: sql`now()` })
    .where(eq(passwordResets.id, (await ownResets())[0]?.id ?? newId('rst')))
  await expect(resetPassword(base, { token: old, password })).rejects.toThrow('Invalid or expired token')
  await resetPassword(base, { token: used, password })
  await expect(resetPassword(base, { token: unused, password })).rejects.toThrow('Invalid or expired token')
})

test('a password that is too common leaves the token as it was', async () => {
  const token = await ask()
  for (const weak of ['1q2w3e4r5t6y', email]) {
    await expect(resetPassword(base, { token, password: weak })).rejects.toThrow('is too common')
  }
  await resetPassword(base, { token, password })
})

test('every session of the person ends, in whichever workspace, and nobody else’s', async () => {
  await logIn(base, { email, password: oldPassword })
  const bystander = await signUp(base, { email: `eve-${people}@example.com`, password: oldPassword, name: '' })
  await resetPassword(base, { token: await ask(), password })
  expect(await database.db.$count(sessions, eq(sessions.userId, userId))).toBe(0)
  expect(await database.db.$count(sessions, eq(sessions.userId, bystander.user.id))).toBe(1)
})

test('three mails an hour at most, also of many asked for at once, and also after one was used', async () => {
  await Promise.all(Array.from({ length: 8 }, () => requestPasswordReset(base, { email: email.toUpperCase() })))
  expect(await countMails()).toBe(3)
  const [first] = await ownResets()
  await resetPassword(base, { token: deriveMailToken(base.settings.keys, 'rpr', first?.id ?? ''), password })
  await requestPasswordReset(base, { email })
  expect(await countMails()).toBe(3)
  // An hour later.
  await database.db
    .update(passwordResets)
    .set({ createdAt: sql`now() - interval '61 minutes'`, expiresAt: sql`now() - interval '61 minutes'` })
    .where(eq(passwordResets.userId, userId))
  await requestPasswordReset(base, { email })
  expect(await countMails()).toBe(4)
})

test('nobody is mailed who is unknown, and nothing is written', async () => {
  const count = () =>
    Promise.all([database.db.$count(mails), database.db.$count(passwordResets), database.db.$count(users)])
  const before = await count()
  await requestPasswordReset(base, { email: 'nobody@example.com' })
  expect(await count()).toEqual(before)
})

test('what is stored of a token is not the token, and opens nothing', async () => {
  const token = await ask()
  const stored = await ownResets()
  const tables = await database.db.execute(sql`
    select (select json_agg(t) from password_resets t)::text || (select json_agg(t) from mails t)::text ||
      (select json_agg(t) from outbox t)::text as text`)
  expect(JSON.stringify(tables.rows)).not.toContain(token)
  for (const { tokenHash, id } of stored) {
    for (const guess of [tokenHash, id, `rpr_${tokenHash}`]) {
      await expect(resetPassword(base, { token: guess, password })).rejects.toThrow('Invalid or expired token')
    }
  }
})

test('the letter has the link, is the same each time, and is none once the link is dead', async () => {
  const token = await ask()
  const [mail] = await database.db.select().from(mails).where(isReset())
  if (!mail) throw new Error('There is no mail')
  const letter = await renderPasswordResetMail(ctx, mail)
  for (const part of [letter?.html, letter?.text])
    expect(part).toContain(`https://crm.example.com/reset-password?token=${token}`)
  expect(await renderPasswordResetMail(ctx, mail)).toEqual(letter)
  expect(letter).toMatchObject({ to: { name: '', address: email }, from: { address: 'letters@example.com' } })
  await resetPassword(base, { token, password })
  expect(await renderPasswordResetMail(ctx, mail)).toBeUndefined()
})

test('what is long over is forgotten, what may still count is not', async () => {
  await ask()
  await ask()
  const [old] = await ownResets()
  await database.db
    .update(passwordResets)
    .set({ expiresAt: sql`now() - interval '61 minutes'` })
    .where(eq(passwordResets.id, old?.id ?? newId('rst')))
  await purgePasswordResets(database.db)
  expect((await ownResets()).map(({ id }) => id)).toEqual([expect.not.stringMatching(old?.id ?? 'none')])
})
