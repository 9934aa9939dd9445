import { claimTestEmail, createTestEmail, createTestTemplate } from '@rapport/testing/consent/test-emails.ts'
import { createTestCtx } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { complaints, hardBounces } from '@rapport/testing/mail-providers/provider-bounces.ts'
import { providerSecrets, readTestCertificate, signMessage } from '@rapport/testing/mail-providers/provider-messages.ts'
import { expect, test } from 'vitest'
import { readSuppressions } from '../../consent/consent-records.ts'
import { mailProviders } from '../../db/schema/index.ts'
import { renderEmails } from '../../emails/email-mail.ts'
import { readEmail } from '../../emails/emails.ts'
import { recordEmailOutcomes } from '../../emails/record-emails.ts'
import { newId, uuidOf } from '../../kernel/ids.ts'
import { createInstallationHook, createMailHook } from '../../mail-hooks/mail-hooks.ts'
import type { Ctx } from '../../request/context.ts'
import { receiveHookMessage } from './receive-hook-message.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

/** Sends an email from a template to ada@example.com. */
async function sendTestEmail(of: Ctx) {
  const { id } = await createTestEmail(of, (await createTestTemplate(of)).id)
  const email = await claimTestEmail(of, id)
  const mail = email && (await renderEmails(of, [email])).get(id)
  if (!mail || mail instanceof Error) throw new Error('The email was not rendered')
  await recordEmailOutcomes(of, [{ email, outcome: { kind: 'sent' } }])
  return { id, messageId: mail.messageId }
}

test.each([
  { provider: 'mailgun', type: 'bounce', contents: hardBounces, expected: { bounceClass: 'HARD' } },
  { provider: 'mailgun', type: 'complaint', contents: complaints, expected: { complainedAt: expect.any(String) } },
  { provider: 'sendgrid', type: 'bounce', contents: hardBounces, expected: { bounceClass: 'HARD' } },
] as const)(
  '$provider: a hook of the installation finds the email of a $type by Message-ID',
  async ({ provider, contents, expected }) => {
    const other = await createTestCtx(database.db)
    const { id, messageId } = await sendTestEmail(ctx)
    const { id: hookId } = await createInstallationHook(ctx, { provider, secret: providerSecrets[provider] })
    const receive = async (mail: object) => {
      const message = signMessage[provider](contents[provider](mail))
      await receiveHookMessage(ctx, { provider, hookId, ...message, now: new Date(), readUrl: readTestCertificate })
    }
    await receive({ messageId: messageId.replace(id, newId('mai')) })
    expect(await readSuppressions(ctx, { email: 'ada@example.com' })).toEqual([])
    await receive({ messageId })
    expect(await readEmail(ctx, id)).toMatchObject(expected)
    expect(await readSuppressions(ctx, { email: 'ada@example.com' })).toHaveLength(1)
    expect(await readSuppressions(other, { email: 'ada@example.com' })).toEqual([])
  },
)

test.each(mailProviders)('%s: a hook that quotes a link of an email: no event has it', async (provider) => {
  const { messageId } = await sendTestEmail(ctx)
  const { id: hookId } = await createMailHook(ctx, { provider, secret: providerSecrets[provider] })
  const bounce = JSON.stringify(hardBounces[provider]({ messageId }))
  const quoting = bounce.replace('User unknown', 'blocked URL https://shop.example/reset/planted-link')
  const message = signMessage[provider](JSON.parse(quoting))
  await receiveHookMessage(ctx, { provider, hookId, ...message, now: new Date(), readUrl: readTestCertificate })
  const { rows } = await database.pool.query<{ data: { detail: string } }>(
    `select data from events where type = 'mail.bounced' and workspace_id = $1`,
    [uuidOf(ctx.workspaceId)],
  )
  expect(rows.map(({ data }) => data.detail)).toEqual([expect.stringMatching(/rejected: blocked URL \[value\]$/)])
})
