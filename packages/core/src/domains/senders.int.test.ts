import { eq } from 'drizzle-orm'
import { beforeAll, describe, expect, test } from 'vitest'
import { loadCampaignRenderer, sendTestMail } from '../campaigns/campaign-mail.ts'
import { updateCampaign } from '../campaigns/campaigns.ts'
import { pauseCampaign, resumeCampaign, retryCampaign } from '../campaigns/lifecycle.ts'
import { sendCampaign } from '../campaigns/send-campaign.ts'
import type { Ctx } from '../request/context.ts'
import { domains, mails, workspaces } from '../db/schema/index.ts'
import { updateTemplate } from '../emails/templates/templates.ts'
import { createTestEmail, createTestTemplate } from '@rapport/testing/consent/test-emails.ts'
import { createTestCampaign, createTestCtx } from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { addTestDomain, addVerifiedDomain } from '@rapport/testing/network/sending-domains.ts'
import { renderMail } from '../operations/mail/render-mail.ts'
import { reportSending } from '../campaigns/sending-report/report-sending.ts'
import { listSendersOfOthers } from '../operations/overviews/senders-of-others.ts'
import { updateWorkspace } from '../workspaces/update-workspace.ts'
import { senderAddress } from './senders.ts'
import { setSenderDomains } from './set-sender-domains.ts'

const database = useTestDatabase()
let unrestricted: Ctx
let restricted: Ctx
beforeAll(async () => {
  unrestricted = await createTestCtx(database.db)
  restricted = {
    ...unrestricted,
    settings: { ...unrestricted.settings, mailFromDomains: ['example.org', 'example.net'] },
  }
})

const orVerified = ', or at a domain that the workspace has verified'
const senderError = {
  code: 'validation_error',
  issues: [{ path: 'fromEmail', message: `must be an address at example.org or example.net${orVerified}` }],
}
const wrong = ['ceo@bank.example', 'a@sub.example.org', 'a@example.org.evil.example', 'a@notexample.org']

test.each(wrong)('the sender %s, outside the allowed domains, cannot be saved', async (fromEmail) => {
  const { id } = await createTestCampaign(unrestricted)
  await expect(createTestCampaign(restricted, { fromEmail })).rejects.toMatchObject(senderError)
  await expect(updateCampaign(restricted, id, { fromEmail })).rejects.toMatchObject(senderError)
  await expect(updateWorkspace(restricted, { fromEmail })).rejects.toMatchObject(senderError)
})

test('a sender of an allowed domain can be saved, in upper or lower case', async () => {
  const senders = [
    await createTestCampaign(restricted, { fromEmail: 'News@Example.NET' }),
    await updateWorkspace(restricted, { fromEmail: 'news@example.org' }),
    await updateWorkspace(restricted, { fromEmail: null }),
    await createTestCampaign(unrestricted, { fromEmail: 'ceo@bank.example' }),
  ]
  expect(senders.map(({ fromEmail }) => fromEmail)).toEqual([
    'News@Example.NET',
    'news@example.org',
    null,
    'ceo@bank.example',
  ])
})

test('a sender that was saved before the restriction is not used', async () => {
  const own = await createTestCampaign(unrestricted, { fromEmail: 'ceo@bank.example', confirmed: 1 })
  await expect(sendCampaign(restricted, own.id)).rejects.toMatchObject(senderError)
  const ctx = await createTestCtx(database.db)
  const campaign = await createTestCampaign(ctx, { confirmed: 1 })
  await ctx.db.update(workspaces).set({ fromEmail: 'ceo@bank.example' }).where(eq(workspaces.id, ctx.workspaceId))
  const restrictedCtx = { ...ctx, settings: restricted.settings }
  await expect(sendCampaign(restrictedCtx, campaign.id)).rejects.toMatchObject(senderError)
  expect(await sendCampaign(ctx, campaign.id)).toEqual({ queued: 1, unseen: 0 })
  // A campaign that is already SENDING pauses before its next batch.
  const { senderProblem } = await loadCampaignRenderer(restrictedCtx, campaign.id)
  expect(senderProblem).toContain('must be an address at example.org')
})

const isTheOperators = {
  code: 'validation_error',
  issues: [{ path: 'fromEmail', message: expect.any(String) as string }],
}

test.each(['crm@example.com', 'CRM@Example.COM', 'crm+news@example.com'])(
  'naming %s, a form of MAIL_FROM, is rejected',
  async (fromEmail) => {
    const ctx = await createTestCtx(database.db, { settings: { mailFrom: 'crm@example.com' } })
    const { id } = await createTestCampaign(ctx)
    await expect(createTestCampaign(ctx, { fromEmail })).rejects.toMatchObject(isTheOperators)
    await expect(updateCampaign(ctx, id, { fromEmail })).rejects.toMatchObject(isTheOperators)
    await expect(updateWorkspace(ctx, { fromEmail })).rejects.toMatchObject(isTheOperators)
  },
)

test('a workspace that named MAIL_FROM before this was rejected still sends from it', async () => {
  const ctx = await createTestCtx(database.db)
  const campaign = await createTestCampaign(ctx, { confirmed: 1 })
  const fromEmail = ctx.settings.mailFrom
  await ctx.db.update(workspaces).set({ fromEmail }).where(eq(workspaces.id, ctx.workspaceId))
  expect(await sendCampaign(ctx, campaign.id)).toEqual({ queued: 1, unseen: 0 })
})

test.each(['ceo@bank.example', 'ceo@BANK.example', 'ceo@mail.bank.example'])(
  '%s, at a domain that was given to another workspace, cannot be named',
  async (fromEmail) => {
    const [bank, other] = [await createTestCtx(database.db), await createTestCtx(database.db)]
    const saved = await createTestCampaign(other, { fromEmail, confirmed: 1 })
    await setSenderDomains(bank, ['bank.example'])
    const { id } = await createTestCampaign(other)
    const rejected = { code: 'validation_error', issues: [{ path: 'fromEmail' }] }
    await expect(createTestCampaign(other, { fromEmail })).rejects.toMatchObject(rejected)
    await expect(updateCampaign(other, id, { fromEmail })).rejects.toMatchObject(rejected)
    await expect(updateWorkspace(other, { fromEmail })).rejects.toMatchObject(rejected)
    // It was saved before the domain was given: checked again when the mail is sent.
    await expect(sendCampaign(other, saved.id)).rejects.toMatchObject(rejected)
    expect(await senderAddress(other, [fromEmail])).toBe(other.settings.mailFrom)
    await setSenderDomains(bank, [])
    expect(await senderAddress(other, [fromEmail])).toBe(fromEmail)
  },
)

test('a workspace with domains of its own sends from these only, and from MAIL_FROM', async () => {
  const ctx = await createTestCtx(database.db)
  await setSenderDomains(ctx, ['engines.example', 'looms.example'])
  await setSenderDomains(await createTestCtx(database.db), ['engines.example'])
  const error = {
    issues: [{ path: 'fromEmail', message: `must be an address at engines.example or looms.example${orVerified}` }],
  }
  await expect(createTestCampaign(ctx, { fromEmail: 'ada@example.org' })).rejects.toMatchObject(error)
  const own = await createTestCampaign(ctx, { fromEmail: 'Ada@Engines.example', confirmed: 1 })
  expect(await sendCampaign(ctx, own.id)).toEqual({ queued: 1, unseen: 0 })
  expect(await senderAddress(ctx, ['ada@looms.example'])).toBe('ada@looms.example')
  expect(await senderAddress(ctx, ['ada@example.org', null])).toBe(ctx.settings.mailFrom)
})

test('the operator cannot give a domain that MAIL_FROM_DOMAINS does not allow', async () => {
  await expect(setSenderDomains(restricted, ['bank.example'])).rejects.toMatchObject({ code: 'validation_error' })
  await setSenderDomains(restricted, ['example.org'])
  await expect(updateWorkspace(restricted, { fromEmail: 'a@example.net' })).rejects.toMatchObject({
    issues: [{ message: `must be an address at example.org${orVerified}` }],
  })
})

test('a workspace sends from a domain that it has verified, beside the allowed ones', async () => {
  const ctx = { ...(await createTestCtx(database.db)), settings: restricted.settings }
  await addTestDomain(ctx, 'looms.example')
  await expect(updateWorkspace(ctx, { fromEmail: 'ada@looms.example' })).rejects.toMatchObject({
    code: 'validation_error',
  })
  await setSenderDomains(ctx, ['example.org'])
  await addVerifiedDomain(ctx, 'mills.example')
  expect(await updateWorkspace(ctx, { fromEmail: 'Ada@Mills.example' })).toMatchObject({
    fromEmail: 'Ada@Mills.example',
  })
  // Its subdomains are not verified, and neither is the domain of another workspace.
  await expect(updateWorkspace(ctx, { fromEmail: 'a@sub.mills.example' })).rejects.toMatchObject({ issues: [{}] })
  const other = { ...(await createTestCtx(database.db)), settings: restricted.settings }
  await expect(updateWorkspace(other, { fromEmail: 'a@mills.example' })).rejects.toMatchObject(senderError)
})

test('a verified domain cannot be named if it was given to another workspace only', async () => {
  const [ctx, bank] = [await createTestCtx(database.db), await createTestCtx(database.db)]
  await addVerifiedDomain(ctx, 'vault.example')
  await setSenderDomains(bank, ['vault.example'])
  const error = { issues: [{ path: 'fromEmail', message: 'must not be an address at vault.example' }] }
  await expect(updateWorkspace(ctx, { fromEmail: 'ceo@vault.example' })).rejects.toMatchObject(error)
  await setSenderDomains(ctx, ['vault.example'])
  expect(await senderAddress(ctx, ['ceo@vault.example'])).toBe('ceo@vault.example')
})

describe('a domain that another workspace has verified', () => {
  const names = { code: 'validation_error', issues: [{ path: 'fromEmail' }] }
  const create = async () => {
    const [owner, other] = [await createTestCtx(database.db), await createTestCtx(database.db)]
    const name = `${owner.workspaceId.slice(-10)}.example`
    return { owner, other, name }
  }

  test.each(['', 'sub.'])('cannot be named, nor a subdomain of it: %s', async (label) => {
    const { owner, other, name } = await create()
    const fromEmail = `News@${label}${name.toUpperCase()}`
    const saved = await createTestCampaign(other, { fromEmail, confirmed: 1 })
    const ofTemplate = `reset@${label}${name}`
    await createTestTemplate(other, { fromEmail: ofTemplate })
    await addVerifiedDomain(owner, name)
    await expect(createTestCampaign(other, { fromEmail })).rejects.toMatchObject(names)
    await expect(updateCampaign(other, saved.id, { fromEmail })).rejects.toMatchObject(names)
    await expect(updateWorkspace(other, { fromEmail })).rejects.toMatchObject(names)
    // It was saved before: nothing is sent from it.
    await expect(sendCampaign(other, saved.id)).rejects.toMatchObject({ code: 'domain_not_verified' })
    await expect(reportSending(other, saved.id)).rejects.toMatchObject({ code: 'domain_not_verified' })
    expect(await senderAddress(other, [fromEmail])).toBe(other.settings.mailFrom)
    const listed = (await listSendersOfOthers(database.db)).filter((one) => one.workspaceId === other.workspaceId)
    expect(listed.map((one) => one.fromEmail)).toEqual([fromEmail, ofTemplate])
    expect(await senderAddress(owner, [`a@${name}`])).toBe(`a@${name}`)
  })

  test('can be named by each workspace that has verified it, also with its subdomains', async () => {
    const { owner, other, name } = await create()
    for (const ctx of [owner, other]) await addVerifiedDomain(ctx, name)
    for (const ctx of [owner, other]) {
      const fromEmail = `news@sub.${name}`
      expect(await updateWorkspace(ctx, { fromEmail })).toMatchObject({ fromEmail })
      expect(await senderAddress(ctx, [`news@${name}`])).toBe(`news@${name}`)
    }
  })

  test('can be named by the workspace to which the operator gave it', async () => {
    const { owner, other, name } = await create()
    await addVerifiedDomain(owner, name)
    await setSenderDomains(other, [name])
    const campaign = await createTestCampaign(other, { fromEmail: `news@${name}`, confirmed: 1 })
    expect(await sendCampaign(other, campaign.id)).toEqual({ queued: 1, unseen: 0 })
  })

  test('that is not verified anymore, or only similar, stops no one', async () => {
    const { owner, other, name } = await create()
    await addVerifiedDomain(owner, name)
    expect(await senderAddress(other, [`a@x${name}`])).toBe(`a@x${name}`)
    await owner.db.update(domains).set({ status: 'FAILED' }).where(eq(domains.workspaceId, owner.workspaceId))
    expect(await senderAddress(other, [`a@${name}`])).toBe(`a@${name}`)
  })

  test('leaves MAIL_FROM to everyone who names no sender', async () => {
    const { owner, other } = await create()
    await addVerifiedDomain(owner, 'example.com')
    const campaign = await createTestCampaign(other, { confirmed: 1 })
    expect(await sendCampaign(other, campaign.id)).toEqual({ queued: 1, unseen: 0 })
    await owner.db.delete(domains).where(eq(domains.workspaceId, owner.workspaceId))
  })
})

test('with REQUIRE_VERIFIED_DOMAIN, a campaign is sent from a verified domain only', async () => {
  const ctx = await createTestCtx(database.db, { settings: { requiresVerifiedDomain: true } })
  const own = await createTestCampaign(ctx, { fromEmail: 'ada@gears.example', confirmed: 1 })
  const { listId } = own
  const fromDefault = await createTestCampaign(ctx, { ...(listId && { listId }) })
  const refused = { code: 'domain_not_verified', message: expect.stringContaining('gears.example is not verified') }
  await addTestDomain(ctx, 'gears.example', { status: 'FAILED' })
  await expect(sendCampaign(ctx, own.id)).rejects.toMatchObject(refused)
  await expect(reportSending(ctx, own.id)).rejects.toMatchObject(refused)
  // MAIL_FROM, at example.com, is not exempt.
  await expect(sendCampaign(ctx, fromDefault.id)).rejects.toMatchObject({ code: 'domain_not_verified' })
  await ctx.db.update(domains).set({ status: 'VERIFIED' }).where(eq(domains.workspaceId, ctx.workspaceId))
  expect(await sendCampaign(ctx, own.id)).toEqual({ queued: 1, unseen: 0 })
  await addVerifiedDomain(ctx, 'example.com')
  expect(await sendCampaign(ctx, fromDefault.id)).toEqual({ queued: 1, unseen: 0 })

  const setStatus = (status: 'VERIFIED' | 'FAILED') =>
    ctx.db.update(domains).set({ status }).where(eq(domains.workspaceId, ctx.workspaceId))
  await setStatus('FAILED')
  await pauseCampaign(ctx, own.id)
  const retry = () => retryCampaign(ctx, own.id, { includeInterrupted: true })
  for (const call of [() => resumeCampaign(ctx, own.id), retry]) await expect(call()).rejects.toMatchObject(refused)
  await setStatus('VERIFIED')
  expect(await resumeCampaign(ctx, own.id)).toMatchObject({ status: 'SENDING' })
})

test('with REQUIRE_VERIFIED_DOMAIN, emails to one person wait for a verified domain', async () => {
  const ctx = await createTestCtx(database.db, { settings: { requiresVerifiedDomain: true } })
  const setStatus = (status: 'VERIFIED' | 'FAILED') =>
    ctx.db.update(domains).set({ status }).where(eq(domains.workspaceId, ctx.workspaceId))
  const { id } = await createTestTemplate(ctx, { fromEmail: 'ada@belts.example' })
  const fromDefault = await createTestTemplate(ctx)
  const refused = { code: 'domain_not_verified', message: expect.stringContaining('belts.example is not verified') }
  await addTestDomain(ctx, 'belts.example', { status: 'FAILED' })
  await expect(createTestEmail(ctx, id)).rejects.toMatchObject(refused)
  await expect(createTestEmail(ctx, fromDefault.id)).rejects.toMatchObject({ code: 'domain_not_verified' })
  await setStatus('VERIFIED')
  expect(await createTestEmail(ctx, id)).toMatchObject({ status: 'PENDING' })
  await updateTemplate(ctx, id, { status: 'PAUSED' })
  await setStatus('FAILED')
  await expect(updateTemplate(ctx, id, { status: 'ACTIVE' })).rejects.toMatchObject(refused)
  await setStatus('VERIFIED')
  expect(await updateTemplate(ctx, id, { status: 'ACTIVE' })).toMatchObject({ status: 'ACTIVE' })
})

test('with REQUIRE_VERIFIED_DOMAIN, a test mail has a verified sender or names none', async () => {
  const ctx = await createTestCtx(database.db, { settings: { requiresVerifiedDomain: true } })
  const fromDefault = await createTestCampaign(ctx)
  const own = await createTestCampaign(ctx, { fromEmail: 'ada@cogs.example' })
  const sendTest = ({ id }: typeof own) => sendTestMail(ctx, id, { email: 'me@example.com' })
  const refused = { code: 'domain_not_verified', message: expect.stringContaining('cogs.example is not verified') }
  expect(await sendTest(fromDefault)).toEqual({ queued: 1 })
  const queued = await ctx.db.select().from(mails).where(eq(mails.workspaceId, ctx.workspaceId))
  const render = () => Promise.all(queued.map((mail) => renderMail(ctx, mail)))
  expect(await render()).toMatchObject([{ from: { address: ctx.settings.mailFrom } }])
  await expect(sendTest(own)).rejects.toMatchObject(refused)
  await updateWorkspace(ctx, { fromEmail: 'hello@cogs.example' })
  for (const call of [() => sendTest(fromDefault), render]) await expect(call()).rejects.toMatchObject(refused)
  await addVerifiedDomain(ctx, 'cogs.example')
  expect(await render()).toMatchObject([{ from: { address: 'hello@cogs.example' } }])
  for (const campaign of [own, fromDefault]) expect(await sendTest(campaign)).toEqual({ queued: 1 })
})
