import { eq } from 'drizzle-orm'
import { beforeEach, describe, expect, test } from 'vitest'
import { claimTestBatch, sendTestBatch, startTestCampaign } from '@rapport/testing/fixtures/campaign-work.ts'
import { createTestCtx, createTestList, createTestWorker, listEventTypes } from '@rapport/testing/fixtures/factories.ts'
import { complaints, hardBounces } from '@rapport/testing/mail-providers/provider-bounces.ts'
import {
  type ProviderMessage,
  providerSecrets,
  readTestCertificate,
  signMessage,
} from '@rapport/testing/mail-providers/provider-messages.ts'
import { canDeadlock, deadlockOnce } from '@rapport/testing/postgres/deadlock-once.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { readStats } from '../../campaigns/campaign-stats.ts'
import { RecipientQuery } from '../../campaigns/campaigns.schema.ts'
import { listRecipients } from '../../campaigns/list-recipients.ts'
import { readContact } from '../../contacts/read-contact.ts'
import { updateContact } from '../../contacts/update-contact.ts'
import { mails } from '../../db/schema/index.ts'
import type { MailHookId } from '../../kernel/ids.ts'
import { newId } from '../../kernel/ids.ts'
import { confirmSubscribers } from '@rapport/testing/consent/confirm-subscribers.ts'
import { createInstallationHook, createMailHook, listInstallationHooks } from '../../mail-hooks/mail-hooks.ts'
import { purgeHookTokens } from '../../mail-hooks/signed-tokens.ts'
import { enqueueMail } from '../../mail/mails.ts'
import { createRecipientToken } from '../../mail/bounces/recipient-token.ts'
import { hashProviderMessageId } from '../../mail/providers/provider-message-id.ts'
import type { MailProvider } from '../../mail/providers/read-message.ts'
import type { Ctx } from '../../request/context.ts'
import { readSuppressions } from '../../consent/consent-records.ts'
import { suppress } from '../../suppressions/suppress.ts'
import { deleteContact } from '../contacts/delete-contact.ts'
import { receiveHookMessage } from './receive-hook-message.ts'

const database = useTestDatabase()
let ctx: Ctx
beforeEach(async () => {
  ctx = await createTestCtx(database.db)
})

const inputOf = (provider: MailProvider) => ({ provider, secret: providerSecrets[provider] })
const receive = (provider: MailProvider, hookId: MailHookId, message: ProviderMessage) =>
  receiveHookMessage(ctx, { provider, hookId, ...message, now: new Date(), readUrl: readTestCertificate })

async function reasonsOf(of: Ctx, email: string) {
  return (await readSuppressions(of, { email })).map(({ reason }) => reason)
}

/** Sends a campaign to person-1 and person-2. The emails get the ids `<prefix>-person-1` and `<prefix>-person-2`. */
async function sendTestCampaign(of: Ctx, prefix: string) {
  const { id, batches } = await startTestCampaign(of, 2)
  const batch = await claimTestBatch(of, batches[0], await createTestWorker(database.db))
  const { recipients } = await sendTestBatch(of, batch, { providerPrefix: prefix })
  const [first, second] = [1, 2].map((number) => {
    const email = `person-${number}@example.com`
    const contactId = recipients.find((recipient) => recipient.email === email)?.id ?? newId('con')
    return {
      id,
      contactId,
      email,
      messageId: `<${id}.${contactId}@example.com>`,
      providerId: `${prefix}-person-${number}`,
    }
  })
  if (!first || !second) throw new Error('There are no recipients')
  return { ...first, second }
}

test('an opt-out at the provider ends every subscription; repeated, no later one', async () => {
  const { id, contactId, email, providerId } = await sendTestCampaign(ctx, 'sg')
  const hook = await createMailHook(ctx, inputOf('sendgrid'))
  const optOut = [
    { event: 'unsubscribe', email: `Ada <${email}>`, sg_event_id: 'one', sg_message_id: `${providerId}.1` },
  ]
  await receive('sendgrid', hook.id, signMessage.sendgrid(optOut))
  expect(await reasonsOf(ctx, email)).toEqual(['OPTED_OUT'])
  expect(await readContact(ctx, contactId)).toMatchObject({ emailSubscribedStatus: 'UNSUBSCRIBED' })
  expect(await readStats(ctx, id)).toMatchObject({ unsubscribed: 1, bounced: 0 })
  expect(await listEventTypes(ctx)).toContain('subscription.unsubscribed')
  expect(await listEventTypes(ctx)).not.toContain('mail.bounced')
  await database.pool.query('delete from suppressions')
  await receive('sendgrid', hook.id, signMessage.sendgrid(optOut))
  expect(await reasonsOf(ctx, email)).toEqual([])
  await receive('sendgrid', hook.id, signMessage.sendgrid([{ ...optOut[0], sg_event_id: 'two' }]))
  expect(await reasonsOf(ctx, email)).toEqual(['OPTED_OUT'])
})

test('the word at the provider stands beside what an operator recorded', async () => {
  const { email } = await sendTestCampaign(ctx, 'pm')
  await suppress(ctx, [{ email, reason: 'OPTED_OUT', source: 'API' }], { emitsEvents: false })
  const hook = await createMailHook(ctx, inputOf('mailgun'))
  await receive('mailgun', hook.id, signMessage.mailgun({ event: 'unsubscribed', recipient: email }))
  expect((await readSuppressions(ctx, { email })).map(({ source }) => source)).toEqual(['API', 'MAIL_EVENT'])
})

test('a hook finds the campaign by the id that the mail server gave the email', async () => {
  const { id, email, providerId } = await sendTestCampaign(ctx, 'ses')
  const hook = await createMailHook(ctx, inputOf('ses'))
  await receive('ses', hook.id, signMessage.ses(hardBounces.ses({ email, providerId })))
  expect(await readStats(ctx, id)).toMatchObject({ bounced: 1 })
})

test('a complaint without an address suppresses the recipient that the id names', async () => {
  const { id, email, providerId } = await sendTestCampaign(ctx, 'ses')
  const hook = await createMailHook(ctx, inputOf('ses'))
  await receive('ses', hook.id, signMessage.ses(complaints.ses({ email: 'redacted', providerId })))
  expect(await reasonsOf(ctx, email)).toEqual(['COMPLAINED'])
  expect(await readStats(ctx, id)).toMatchObject({ complained: 1 })
})

test("the ids of another workspace's emails change nothing there", async () => {
  const other = await createTestCtx(database.db)
  const sent = await sendTestCampaign(other, 'foreign')
  const hook = await createMailHook(ctx, inputOf('ses'))
  await receive('ses', hook.id, signMessage.ses(hardBounces.ses(sent)))
  expect(await readStats(other, sent.id)).toMatchObject({ bounced: 0 })
  expect([await reasonsOf(other, sent.email), await listEventTypes(other)]).toEqual([[], ['campaign.sending']])
  expect(await reasonsOf(ctx, sent.email)).toEqual(['BOUNCED'])
})

describe('an address that an email was forwarded to is not suppressed', () => {
  const reportTo = async (mail: { providerId: string }, content: typeof hardBounces.ses, email: string) => {
    const hook = await createMailHook(ctx, inputOf('ses'))
    await receive('ses', hook.id, signMessage.ses(content({ ...mail, email })))
  }

  test('that of a campaign', async () => {
    const { second, ...sent } = await sendTestCampaign(ctx, 'ses')
    await reportTo(sent, hardBounces.ses, second.email)
    await reportTo(sent, complaints.ses, second.email)
    expect([await reasonsOf(ctx, sent.email), await reasonsOf(ctx, second.email)]).toEqual([['COMPLAINED'], []])
  })

  test('unless the recipient consented for it', async () => {
    const { second } = await sendTestCampaign(ctx, 'ses')
    const { id: listId } = await createTestList(ctx)
    await confirmSubscribers(ctx, { listId, contacts: [{ id: second.contactId, email: second.email }] })
    await updateContact(ctx, second.contactId, { email: 'changed@example.com' })
    await reportTo(second, hardBounces.ses, 'Person-2@example.com')
    expect(await reasonsOf(ctx, second.email)).toEqual(['BOUNCED'])
  })

  test('that of a campaign whose recipient was deleted; a complaint still counts', async () => {
    const { second, ...sent } = await sendTestCampaign(ctx, 'ses')
    await deleteContact(ctx, sent.contactId)
    await reportTo(sent, hardBounces.ses, second.email)
    await reportTo(sent, complaints.ses, sent.email)
    expect([await reasonsOf(ctx, sent.email), await reasonsOf(ctx, second.email)]).toEqual([['COMPLAINED'], []])
  })

  test('that of a single email', async () => {
    await enqueueMail(ctx, { kind: 'CAMPAIGN_TEST', to: 'ada@example.com', data: {} })
    const sent = { providerMessageHash: hashProviderMessageId('single') }
    await ctx.db.update(mails).set(sent).where(eq(mails.workspaceId, ctx.workspaceId))
    await reportTo({ providerId: 'single' }, hardBounces.ses, 'eve@example.com')
    expect([await reasonsOf(ctx, 'ada@example.com'), await reasonsOf(ctx, 'eve@example.com')]).toEqual([
      ['BOUNCED'],
      [],
    ])
  })
})

describe('the id of the provider counts, not a Message-ID that a remote server wrote', () => {
  test('for the recipient', async () => {
    const { second, ...sent } = await sendTestCampaign(ctx, 'ses')
    const hook = await createMailHook(ctx, inputOf('ses'))
    await receive('ses', hook.id, signMessage.ses(hardBounces.ses({ ...sent, messageId: second.messageId })))
    const { data } = await listRecipients(ctx, sent.id, RecipientQuery.parse({}))
    const bounced = data.filter(({ bounceClass }) => bounceClass !== null)
    expect(bounced.map((recipient) => recipient.contactId)).toEqual([sent.contactId])
  })

  test('for the workspace', async () => {
    const other = await createTestCtx(database.db)
    const [sent, foreign] = [await sendTestCampaign(ctx, ctx.workspaceId), await sendTestCampaign(other, 'foreign')]
    const { id } = await createInstallationHook(ctx, inputOf('ses'))
    await receive('ses', id, signMessage.ses(hardBounces.ses({ ...sent, messageId: foreign.messageId })))
    expect([await reasonsOf(ctx, sent.email), await reasonsOf(other, sent.email)]).toEqual([['BOUNCED'], []])
  })
})

describe('a hook of the installation', () => {
  const createHook = async (provider: MailProvider) => (await createInstallationHook(ctx, inputOf(provider))).id

  test.each([
    ['ses', 'providerId'],
    ['ses', 'messageId'],
    ['sendgrid', 'providerId'],
    ['sendgrid', 'messageId'],
    ['postmark', 'providerId'],
    ['resend', 'providerId'],
    ['mailgun', 'messageId'],
  ] as const)('%s: finds the workspace by the %s, never by the address', async (provider, name) => {
    const other = await createTestCtx(database.db)
    const { id, email, ...names } = await sendTestCampaign(ctx, `${ctx.workspaceId}${provider}`)
    const hookId = await createHook(provider)
    const bounce = (mail: object) => signMessage[provider](hardBounces[provider]({ email, ...mail }))
    await receive(provider, hookId, bounce({}))
    await receive(provider, hookId, bounce({ messageId: `<${newId('cmp')}.${newId('con')}@example.com>` }))
    expect(await reasonsOf(ctx, email)).toEqual([])
    await receive(provider, hookId, bounce({ [name]: names[name] }))
    expect([await reasonsOf(ctx, email), await reasonsOf(other, email)]).toEqual([['BOUNCED'], []])
    expect(await readStats(ctx, id)).toMatchObject({ bounced: 1 })
  })

  test('finds the workspace by the token in the envelope sender, unless it is forged', async () => {
    const email = 'ada@example.com'
    const subject = { mailId: newId('mai') }
    const token = createRecipientToken(ctx.settings.keys, { workspaceId: ctx.workspaceId, subject, email })
    const hookId = await createHook('mailgun')
    const bounce = (text: string) => {
      const envelope = { sender: `b+${text}@bounces.example.com` }
      return signMessage.mailgun({ ...hardBounces.mailgun({ email }), envelope })
    }
    await receive('mailgun', hookId, bounce(token.replace(/.$/, token.endsWith('0') ? '1' : '0')))
    expect(await reasonsOf(ctx, email)).toEqual([])
    await receive('mailgun', hookId, bounce(token))
    expect(await reasonsOf(ctx, email)).toEqual(['BOUNCED'])
  })

  test('a token of Mailgun is accepted once, whatever event it is sent with', async () => {
    const other = await createTestCtx(database.db)
    const [first, second] = [await sendTestCampaign(ctx, 'a'), await sendTestCampaign(other, 'b')]
    const hookId = await createHook('mailgun')
    const message = signMessage.mailgun(hardBounces.mailgun(first))
    await receive('mailgun', hookId, message)
    const body = message.body.toString().replace(first.messageId.slice(1, -1), second.messageId.slice(1, -1))
    await receive('mailgun', hookId, { ...message, body: Buffer.from(body) })
    expect(await readStats(ctx, first.id)).toMatchObject({ bounced: 1 })
    expect([await reasonsOf(other, second.email), await listEventTypes(other)]).toEqual([[], ['campaign.sending']])
    await database.db.execute("update mail_hook_tokens set created_at = now() - interval '47 hours'")
    expect(await purgeHookTokens(database.db)).toBe(0)
    await database.db.execute("update mail_hook_tokens set created_at = now() - interval '49 hours'")
    expect(await purgeHookTokens(database.db)).toBeGreaterThan(0)
  })

  test('one message reports to several workspaces, each report once', async () => {
    const contexts = [ctx, await createTestCtx(database.db)]
    const hookId = await createHook('sendgrid')
    const sent = await Promise.all(
      contexts.map(async (of) => ({ of, ...(await sendTestCampaign(of, of.workspaceId)) })),
    )
    const events = sent.flatMap((mail) => hardBounces.sendgrid(mail))
    const message = signMessage.sendgrid([...events, ...events])
    await Promise.all([receive('sendgrid', hookId, message), receive('sendgrid', hookId, message)])
    for (const { of, id } of sent) {
      expect(await readStats(of, id)).toMatchObject({ bounced: 1 })
      expect(await listEventTypes(of)).toEqual(['campaign.sending', 'subscription.unsubscribed', 'mail.bounced'])
    }
  })

  test('messages with the same reports in both orders do not deadlock', async () => {
    const sent = await sendTestCampaign(ctx, 'both')
    const hookId = await createHook('sendgrid')
    const events = [sent, sent.second].flatMap((mail) => hardBounces.sendgrid(mail))
    const messages = [events, events.toReversed()].map((one) => signMessage.sendgrid(one))
    await Promise.all(Array.from({ length: 3 }, () => messages.map((one) => receive('sendgrid', hookId, one))).flat())
    expect(await readStats(ctx, sent.id)).toMatchObject({ bounced: 2 })
  })

  test.skipIf(!canDeadlock())('a signed message that deadlocks once is repeated', async () => {
    const hook = await createMailHook(ctx, inputOf('mailgun'))
    const message = signMessage.mailgun(hardBounces.mailgun({ email: 'ada@example.com' }))
    const visit = () => receive('mailgun', hook.id, message)
    expect(await deadlockOnce(database.db, ['suppressions'], visit)).toBe(true)
  })

  test('shows when the last message with a valid signature arrived', async () => {
    const hookId = await createHook('postmark')
    const lastMessageAt = async () => (await listInstallationHooks(ctx)).find(({ id }) => id === hookId)?.lastMessageAt
    await receive('postmark', hookId, { headers: {}, body: Buffer.from('{}') }).catch(() => {})
    expect(await lastMessageAt()).toBeNull()
    await receive('postmark', hookId, signMessage.postmark(hardBounces.postmark()))
    expect(await lastMessageAt()).toEqual(expect.any(String))
  })
})
