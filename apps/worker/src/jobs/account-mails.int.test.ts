/** Mails with a link that opens an account. A bounce or a reply contains the link, so no workspace may receive it. */
import { randomUUID } from 'node:crypto'
import { signUp } from '@rapport/core/auth/login.ts'
import { requestPasswordReset } from '@rapport/core/auth/password-resets.ts'
import { members } from '@rapport/core/db/schema/index.ts'
import type { BaseCtx, Ctx, Settings } from '@rapport/core/request/context.ts'
import { createInvite } from '@rapport/core/team/invites.ts'
import { updateWorkspace } from '@rapport/core/workspaces/update-workspace.ts'
import { createTestCtx, listPendingWork, testSettings } from '@rapport/testing/fixtures/factories.ts'
import { useForTest, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { startSmtpReceiver } from '@rapport/testing/network/receivers.ts'
import { addVerifiedDomain } from '@rapport/testing/network/sending-domains.ts'
import { expect, test } from 'vitest'
import { createTestDeps, jobOf } from '../../test/fixtures.ts'
import { startRefusingSmtp } from '../../test/refusing-smtp.ts'
import { sendMail } from './send-mail.ts'

const database = useTestDatabase()
const smtp = useForTest(() => startSmtpReceiver())
const deps = useForTest(() => createTestDeps(database.db, { smtpUrl: smtp.url }))

/** Signs up. The workspace has a verification mail that waits. */
async function createAccount(settings: Settings) {
  const base: BaseCtx = { db: database.db, requestId: 'test', settings }
  const email = `${randomUUID()}@example.com`
  const password = 'a long sentence that is hard to guess'
  const { user, workspace } = await signUp(base, { email, password, name: '' })
  const ctx: Ctx = { ...base, workspaceId: workspace.id, actor: { kind: 'system' } }
  return { ctx, email, userId: user.id }
}

/** Sends the mail that was enqueued last, and returns what the mail server received. */
async function sendLast(ctx: Ctx, kind: 'ACCOUNT_MAIL' | 'MAIL') {
  const before = smtp.mails.length
  const uuid = (await listPendingWork(ctx, 'mail')).at(-1) ?? ''
  await sendMail({ ...deps, settings: ctx.settings }, jobOf(ctx, kind, uuid))
  const [mail, ...others] = smtp.mails.slice(before)
  if (!mail || others.length > 0) throw new Error(`Expected one mail, received ${others.length + 1}`)
  return mail
}

const operator = testSettings.mailFrom
const withReturnPath = { ...testSettings, returnPathDomain: 'bounces.example' }

test.each([
  {
    sender: 'a sender of its own',
    domain: 'eve.example',
    isVerified: false,
    settings: testSettings,
    path: /^newsletter@example\.com$/,
  },
  {
    sender: 'a verified domain',
    domain: 'mallory.example',
    isVerified: true,
    settings: withReturnPath,
    path: /^b\+[a-z0-9]{62}@bounces\.example$/,
  },
])('a workspace with $sender gets no bounce or reply of an account', async ({ domain, isVerified, settings, path }) => {
  const { ctx, email } = await createAccount(settings)
  if (isVerified) await addVerifiedDomain(ctx, domain)
  await updateWorkspace(ctx, { fromName: 'Looms', fromEmail: `ceo@${domain}` })
  const verification = await sendLast(ctx, 'ACCOUNT_MAIL')
  await requestPasswordReset(ctx, { email })
  const reset = await sendLast(ctx, 'ACCOUNT_MAIL')
  await createInvite(ctx, { email: 'grace@example.org', role: 'VIEWER' })
  const invite = await sendLast(ctx, 'MAIL')

  for (const { mail, link, name } of [
    { mail: verification, link: 'verify-email', name: '' },
    { mail: reset, link: 'reset-password', name: '' },
    { mail: invite, link: 'accept-invite', name: 'Looms' },
  ]) {
    expect(mail.text).toContain(`${settings.publicUrl}/${link}?token=`)
    expect(mail.fromHeader).toEqual({ name, address: operator })
    expect(mail.from).toMatch(path)
    // The workspace neither signs it nor appears anywhere else.
    expect(mail.raw.toString('latin1')).not.toMatch(/^(?:dkim-signature|reply-to):/im)
    expect(mail.raw.toString('latin1')).not.toContain(domain)
  }
})

test('a reset looks like the workspace of the account, unless there are several', async () => {
  const { ctx, email, userId } = await createAccount(testSettings)
  const accentColor = '#7a1fa2'
  await updateWorkspace(ctx, { accentColor })
  const other = await createTestCtx(database.db)
  await requestPasswordReset(ctx, { email })
  expect((await sendLast(ctx, 'ACCOUNT_MAIL')).html).toContain(accentColor)
  await database.db.insert(members).values({ workspaceId: other.workspaceId, userId, role: 'MEMBER' })
  await requestPasswordReset(ctx, { email })
  expect((await sendLast(ctx, 'ACCOUNT_MAIL')).html).not.toContain(accentColor)
})

test.each(['AUTH', 'MAIL'] as const)('a reset that is refused at %s waits for the repair', async (refusal) => {
  const { ctx, email } = await createAccount(testSettings)
  await requestPasswordReset(ctx, { email })
  const uuid = (await listPendingWork(ctx, 'mail')).at(-1) ?? ''
  const server = await startRefusingSmtp(refusal)
  const refused = await createTestDeps(database.db, { smtpUrl: server.url })
  await expect(sendMail(refused, jobOf(ctx, 'ACCOUNT_MAIL', uuid))).rejects.toThrow(`${refusal} refused`)
  await refused.close()
  await server.close()
  expect((await sendLast(ctx, 'ACCOUNT_MAIL')).text).toContain('/reset-password?token=')
})
