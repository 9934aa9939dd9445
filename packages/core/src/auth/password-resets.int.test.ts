/** Requests that run while a password is reset. */
import { createTestWebhook, readMailedToken, testSettings } from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { providerSecrets } from '@rapport/testing/mail-providers/provider-messages.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { and, eq } from 'drizzle-orm'
import { beforeEach, describe, expect, test } from 'vitest'
import { mailHooks, sessions, webhooks } from '../db/schema/index.ts'
import type { WebhookId } from '../kernel/ids.ts'
import { createMailHook } from '../mail-hooks/mail-hooks.ts'
import { resetPassword } from '../operations/mail/reset-password.ts'
import { updateWebhook } from '../operations/webhooks/save-webhook.ts'
import type { BaseCtx, Ctx } from '../request/context.ts'
import { rotateSecret } from '../webhooks/rotate-secret.ts'
import { logIn, signUp } from './login.ts'
import { requestPasswordReset } from './password-resets.ts'

const database = useTestDatabase()
const password = 'a long sentence that is hard to guess'
const newPasswords = ['another sentence that is hard to guess', 'a third sentence that is hard to guess'] as const
let base: BaseCtx
/** The context of the session that the sign-up opened. */
let ctx: Ctx
let email: string
let token: string
let count = 0
beforeEach(async () => {
  base = { db: database.db, requestId: 'test', settings: testSettings }
  email = `ada-${(count += 1)}@example.com`
  const { user, workspace } = await signUp(base, { email, password, name: '' })
  const [{ id: sessionId } = { id: undefined }] = await database.db
    .select({ id: sessions.id })
    .from(sessions)
    .where(eq(sessions.userId, user.id))
  if (!sessionId) throw new Error('There is no session')
  ctx = { ...base, workspaceId: workspace.id, actor: { kind: 'user', userId: user.id, role: 'OWNER', sessionId } }
  await requestPasswordReset(base, { email })
  token = await readMailedToken(base, email)
})

const canLogIn = (given: string) =>
  logIn(base, { email, password: given }).then(
    () => true,
    () => false,
  )

test('of two requests with one link, one sets the password', async () => {
  const first = await openTransaction(database.db, (db) =>
    resetPassword({ ...base, db }, { token, password: newPasswords[0] }),
  )
  const second = resetPassword(base, { token, password: newPasswords[1] })
  await waitUntilBlocked(database.db)
  const [refusal] = await Promise.all([second.catch((error: unknown) => error), first.commit()])
  expect(refusal).toMatchObject({ code: 'invalid_token' })
  expect([await canLogIn(newPasswords[0]), await canLogIn(newPasswords[1])]).toEqual([true, false])
})

test('a login with the former password opens no session while it is reset', async () => {
  const resetting = await openTransaction(database.db, (db) =>
    resetPassword({ ...base, db }, { token, password: newPasswords[0] }),
  )
  // From another client: the reset locks the counter of failed logins of its own.
  const loggingIn = logIn({ ...base, address: '203.0.113.9' }, { email, password })
  await waitUntilBlocked(database.db)
  const [refusal] = await Promise.all([loggingIn.catch((error: unknown) => error), resetting.commit()])
  expect(refusal).toMatchObject({ code: 'unauthorized' })
})

describe.each<[string, (by: Ctx, disabledId: WebhookId) => Promise<unknown>]>([
  ['a mail hook that is created', (by) => createMailHook(by, { provider: 'ses', secret: providerSecrets.ses })],
  ['a webhook that is created', (by) => createTestWebhook(by)],
  ['a webhook that is enabled', (by, disabledId) => updateWebhook(by, disabledId, { enabled: true })],
  ['a webhook that is redirected', (by, id) => updateWebhook(by, id, { url: 'https://example.com/other' })],
  ['a secret that is rotated', (by, id) => rotateSecret(by, id)],
])('%s in a session that a reset ends', (_what, make) => {
  let disabledId: WebhookId
  beforeEach(async () => {
    disabledId = (await createTestWebhook(ctx)).id
    await updateWebhook(ctx, disabledId, { enabled: false })
  })
  const countRemaining = async () =>
    (await database.db.$count(mailHooks, eq(mailHooks.workspaceId, ctx.workspaceId))) +
    (await database.db.$count(webhooks, and(eq(webhooks.workspaceId, ctx.workspaceId), eq(webhooks.enabled, true))))

  test('does not outlive the reset', async () => {
    const making = await openTransaction(database.db, (db) => make({ ...ctx, db }, disabledId))
    const resetting = resetPassword(base, { token, password: newPasswords[0] })
    await waitUntilBlocked(database.db)
    await Promise.all([making.commit(), resetting])
    expect(await countRemaining()).toBe(0)
  })

  test('is refused while the reset runs', async () => {
    const resetting = await openTransaction(database.db, (db) =>
      resetPassword({ ...base, db }, { token, password: newPasswords[0] }),
    )
    const making = make(ctx, disabledId)
    await waitUntilBlocked(database.db)
    const [refusal] = await Promise.all([making.catch((error: unknown) => error), resetting.commit()])
    expect(refusal).toMatchObject({ code: 'unauthorized' })
    expect(await countRemaining()).toBe(0)
  })
})
