import { backdate } from '@rapport/testing/postgres/backdate.ts'
import { eq, sql } from 'drizzle-orm'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import type { BaseCtx, Ctx } from '../request/context.ts'
import { newId, uuidOf } from '../kernel/ids.ts'
import { apiKeys, invites, mailHooks, mails, members, users, webhooks } from '../db/schema/index.ts'
import { signPayload } from '../kernel/crypto.ts'
import { createMailHook } from '../mail-hooks/mail-hooks.ts'
import { acceptInvite, createInvite } from '../team/invites.ts'
import { renderMail } from '../operations/mail/render-mail.ts'
import { createTestCtx, createTestWebhook, testSettings, readMailedToken } from '@rapport/testing/fixtures/factories.ts'
import { providerSecrets } from '@rapport/testing/mail-providers/provider-messages.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { createApiKey } from './api-keys.ts'
import { ApiKeyInput } from './auth.schema.ts'
import { resendVerificationMail, verifyEmail } from './email-verification.ts'
import { requestPasswordReset } from './password-resets.ts'
import { logIn, signUp } from './login.ts'
import { resetPassword } from '../operations/mail/reset-password.ts'

const [password, newPassword] = ['a long sentence that is hard to guess', 'another sentence that is hard to guess']

const database = useTestDatabase()
let base: BaseCtx
let ctx: Ctx
let email = ''
let userCount = 0
beforeAll(async () => {
  base = { db: database.db, requestId: 'test', settings: testSettings }
})
beforeEach(async () => {
  email = `ada-${(userCount += 1)}@example.com`
  const { user, workspace } = await signUp(base, { email, password, name: '' })
  ctx = { ...base, workspaceId: workspace.id, actor: { kind: 'user', userId: user.id, role: 'OWNER' } }
})

const mailed = () => readMailedToken(base, email)
const userId = () => (ctx.actor.kind === 'user' ? ctx.actor.userId : newId('usr'))
const isVerified = async () => (await logIn(base, { email, password })).user.emailVerifiedAt !== null
const backdateLastMail = (interval: string) =>
  database.db.execute(sql`update users set ${backdate('verification_mailed_at', interval)}`)

/** Creates a key, an invite, a webhook and a mail hook. Returns a function that counts those that remain. */
async function createRecords(by: Ctx) {
  await createApiKey(by, ApiKeyInput.parse({ name: 'for later' }))
  await createInvite(by, { email: `friend-${(userCount += 1)}@example.com`, role: 'ADMIN' })
  await createTestWebhook(by)
  await createMailHook(by, { provider: 'postmark', secret: providerSecrets.postmark })
  const { workspaceId } = by
  const isEnabled = sql`${webhooks.workspaceId} = ${uuidOf(workspaceId)} and ${webhooks.enabled}`
  return async () => ({
    keys: await database.db.$count(apiKeys, eq(apiKeys.workspaceId, workspaceId)),
    invites: await database.db.$count(invites, eq(invites.workspaceId, workspaceId)),
    webhooks: await database.db.$count(webhooks, isEnabled),
    mailHooks: await database.db.$count(mailHooks, eq(mailHooks.workspaceId, workspaceId)),
  })
}

async function reset() {
  await requestPasswordReset(base, { email })
  await resetPassword(base, { token: await mailed(), password: newPassword })
}

test('the link of the sign-up email verifies the address with the password', async () => {
  expect(await isVerified()).toBe(false)
  const token = await mailed()
  await verifyEmail(base, { token, password })
  expect(await isVerified()).toBe(true)
  await verifyEmail(base, { token, password })
})

test('the link verifies nothing without the right password', async () => {
  const token = await mailed()
  await expect(verifyEmail(base, { token, password: newPassword })).rejects.toThrow('The password is wrong')
  expect(await isVerified()).toBe(false)
})

test('a link is valid for seven days, for one account and one purpose', async () => {
  const { links } = base.settings.keys
  const signed = (purpose: string, issuedAt: number, id = userId()) =>
    signPayload(links, purpose, [uuidOf(id), issuedAt])
  const day = 86_400_000
  for (const token of [
    '',
    `${await mailed()}x`,
    signed('verify email', Date.now() - 7 * day - 1_000),
    signed('confirm', Date.now()),
    signed('verify email', Date.now(), newId('usr')),
  ]) {
    await expect(verifyEmail(base, { token, password })).rejects.toThrow('Invalid or expired token')
  }
  await verifyEmail(base, { token: signed('verify email', Date.now() - 6 * day), password })
})

test('sends one more email after an hour, unless the address is verified', async () => {
  await expect(resendVerificationMail(ctx)).rejects.toMatchObject({ code: 'quota_exceeded', retryAfterSeconds: 3_600 })
  await backdateLastMail('60 minutes')
  const results = await Promise.allSettled([1, 2, 3, 4].map(() => resendVerificationMail(ctx)))
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  expect(await database.db.$count(mails, eq(mails.toAddress, email))).toBe(2)
  const token = await mailed()
  await verifyEmail(base, { token, password })
  await expect(resendVerificationMail(ctx)).rejects.toThrow('The email address is already verified')
  expect(await mailed()).toContain('no mail')
})

test('rejects a request by an API key', async () => {
  const apiKeyCtx: Ctx = { ...ctx, actor: { kind: 'apiKey', apiKeyId: newId('key'), role: 'ADMIN', rights: null } }
  await expect(resendVerificationMail(apiKeyCtx)).rejects.toMatchObject({ code: 'forbidden' })
})

test('accepting an invite verifies the address of a new or existing account', async () => {
  const elsewhere = await createTestCtx(database.db)
  for (const address of [email, `new-${email}`]) {
    await createInvite(elsewhere, { email: address, role: 'VIEWER' })
    await acceptInvite(base, { token: await readMailedToken(base, address), password, name: '' })
    expect((await logIn(base, { email: address, password })).user.emailVerifiedAt).not.toBeNull()
  }
})

test('a reset revokes what an account with an unverified address created', async () => {
  const countRemaining = await createRecords(ctx)
  expect(await countRemaining()).toEqual({ keys: 1, invites: 1, webhooks: 1, mailHooks: 1 })
  await reset()
  expect(await countRemaining()).toEqual({ keys: 0, invites: 0, webhooks: 0, mailHooks: 0 })
  expect((await logIn(base, { email, password: newPassword })).user.emailVerifiedAt).not.toBeNull()
  // The address is verified now: the next reset revokes nothing.
  const countRemainingLater = await createRecords(ctx)
  await database.db.execute(sql`update password_resets set ${backdate('created_at', '2 hours')}`)
  await requestPasswordReset(base, { email })
  await resetPassword(base, { token: await mailed(), password })
  expect(await countRemainingLater()).toEqual({ keys: 1, invites: 1, webhooks: 1, mailHooks: 1 })
})

test('a reset revokes nothing of an account with a verified address', async () => {
  await verifyEmail(base, { token: await mailed(), password })
  const countRemaining = await createRecords(ctx)
  await reset()
  expect(await countRemaining()).toEqual({ keys: 1, invites: 1, webhooks: 1, mailHooks: 1 })
})

test('in other workspaces, a reset revokes only what the account created', async () => {
  const other = await createTestCtx(database.db)
  await database.db.insert(members).values({ workspaceId: other.workspaceId, userId: userId(), role: 'ADMIN' })
  const countRemaining = await createRecords(other)
  await createApiKey(
    { ...ctx, workspaceId: other.workspaceId, actor: { kind: 'user', userId: userId(), role: 'ADMIN' } },
    ApiKeyInput.parse({ name: 'own key' }),
  )
  await reset()
  expect(await countRemaining()).toEqual({ keys: 1, invites: 1, webhooks: 1, mailHooks: 1 })
})

test('the reset email announces what will be revoked', async () => {
  await requestPasswordReset(base, { email })
  const [mail] = await database.db
    .select()
    .from(mails)
    .where(eq(mails.kind, 'PASSWORD_RESET'))
    .orderBy(sql`created_at desc`)
  if (!mail) throw new Error('There is no mail')
  expect((await renderMail(ctx, mail))?.text).toContain('revokes the API keys and invites')
  await database.db.update(users).set({ emailVerifiedAt: sql`now()` }).where(eq(users.email, email))
  expect((await renderMail(ctx, mail))?.text).not.toContain('revokes')
})
