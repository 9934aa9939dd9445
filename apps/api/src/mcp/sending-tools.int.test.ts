/** `send_campaign`: what is sent is what was reported. `send_test`: only members receive it. */
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeEach, afterEach, expect, test, vi } from 'vitest'
import { callTool } from '../../test/mcp.ts'
import { freshEmail, type Json, startTestApi, type TestWorkspace } from '../../test/testing.ts'

interface Report extends Json {
  willReceive: number
}
interface Sending extends Json {
  status: string
  confirmationToken: string
  report: Report
}

const api = useForFile(() => startTestApi())
let workspace: TestWorkspace
let listId: string
let campaignId: string
beforeEach(async () => {
  workspace = await api.signUp()
  listId = (await api.create<{ id: string }>('/lists', workspace.key, { name: 'News' })).id
  const draft = await call('draft_campaign', { name: 'November', subject: 'News', listId, text: 'Hello' })
  campaignId = (draft.value['campaign'] as { id: string }).id
  for (let count = 0; count < 3; count++) await subscribe()
})
afterEach(() => void vi.useRealTimers())

const call = <Value = Json>(name: string, args: object) => callTool<Value>(api, workspace.key, { name, args })
const send = (confirmationToken?: string) =>
  call<Sending>('send_campaign', { campaignId, ...(confirmationToken !== undefined && { confirmationToken }) })

const subscribe = (email = freshEmail()) =>
  api.create(`/lists/${listId}/subscribers`, workspace.key, { email, status: 'CONFIRMED' })

async function readTestAddresses() {
  const rows = await api.query(
    `select to_address from mails where kind = 'CAMPAIGN_TEST' and data->>'campaignId' = $1`,
    [campaignId],
  )
  return rows.map((row) => row['to_address'])
}

async function readCampaign() {
  const { body } = await api.call<{ status: string; queued: number }>('GET', `/campaigns/${campaignId}`, {
    key: workspace.key,
  })
  return body
}

test('the first call returns a report and sends nothing; the second sends once', async () => {
  const first = await send()
  expect(first).toMatchObject({
    isError: false,
    value: {
      status: 'CONFIRMATION_REQUIRED',
      report: {
        campaignId,
        subject: 'News',
        list: { id: listId, name: 'News' },
        from: { address: 'news@crm.example.com' },
        willReceive: 3,
        excluded: { pending: 0, unsubscribed: 0, bounced: 0, complained: 0 },
      },
    },
  })
  expect(await readCampaign()).toMatchObject({ status: 'DRAFT', queued: 0 })
  const { confirmationToken, report } = first.value
  expect(report['confirmationToken']).toBe(confirmationToken)
  expect(await send(confirmationToken)).toEqual({ isError: false, value: { status: 'SENDING', queued: 3, unseen: 0 } })
  expect(await readCampaign()).toMatchObject({ status: 'SENDING', queued: 3 })
  expect(await send(confirmationToken)).toEqual({
    isError: true,
    value: { code: 'wrong_state', message: 'Only a DRAFT can be sent: this campaign is SENDING' },
  })
})

test('two calls at once with one token send once', async () => {
  const { confirmationToken } = (await send()).value
  const results = await Promise.all([send(confirmationToken), send(confirmationToken)])
  expect(results.filter(({ isError }) => isError)).toHaveLength(1)
  const events = await api.query(`select type from events where type = 'campaign.sending' and data->>'id' = $1`, [
    campaignId,
  ])
  expect(events).toHaveLength(1)
})

const changes: Record<string, [() => Promise<unknown>, string]> = {
  'a changed text': [
    () => call('draft_campaign', { campaignId, text: 'Another text' }),
    'The content, list, segment or sender of the campaign has changed since the report',
  ],
  'a new subscriber': [subscribe, 'The number of recipients has changed since the report, from 3 to 4'],
  'ten minutes': [
    async () => vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 10 * 60_000 }),
    'The token has expired',
  ],
}

test.each(Object.entries(changes))(
  'after %s, the second call fails with a new report',
  async (_name, [change, message]) => {
    const { confirmationToken } = (await send()).value
    await change()
    const failed = await send(confirmationToken)
    expect(failed).toMatchObject({
      isError: true,
      value: { code: 'precondition_failed', message, report: { campaignId } },
    })
    expect(await readCampaign()).toMatchObject({ status: 'DRAFT', queued: 0 })
    const { willReceive } = failed.value.report
    expect(await send(failed.value.confirmationToken)).toMatchObject({
      value: { status: 'SENDING', queued: willReceive },
    })
  },
)

test('a token of another workspace or campaign is refused without a new report', async () => {
  const other = await api.signUp()
  const list = await api.create<{ id: string }>('/lists', other.key, { name: 'Other' })
  const theirs = await api.create<{ id: string }>('/campaigns', other.key, { name: 'a', subject: 'b', listId: list.id })
  await api.create(`/lists/${list.id}/subscribers`, other.key, { email: freshEmail(), status: 'CONFIRMED' })
  const report = await callTool<Sending>(api, other.key, { name: 'send_campaign', args: { campaignId: theirs.id } })
  for (const token of [report.value.confirmationToken, 'a.b', '', 'x'.repeat(600)]) {
    const { isError, value } = await send(token)
    expect([isError, value['issues'], value.report]).toEqual([
      true,
      [{ path: 'confirmationToken', message: 'is not the token of a report about this campaign' }],
      undefined,
    ])
  }
})

test('a campaign that cannot be sent has no report', async () => {
  await api.query(`update campaigns set subject = '{{ contact.plan }}' where name = 'November'`)
  expect(await send()).toMatchObject({
    isError: true,
    value: {
      code: 'wrong_state',
      issues: [{ path: 'subject', message: expect.stringContaining('line 1') as unknown }],
    },
  })
})

test('a test email is sent to a member, ignoring case', async () => {
  const sent = await call('send_test', { campaignId, email: workspace.email.toUpperCase() })
  expect(sent).toEqual({ isError: false, value: { queued: 1 } })
  expect(await readTestAddresses()).toEqual([workspace.email.toUpperCase()])
})

test('a test email to any other address is an error and sends nothing', async () => {
  const other = await api.signUp()
  const invited = freshEmail()
  await api.create('/invites', workspace.key, { email: invited, role: 'VIEWER' })
  const subscriber = freshEmail()
  await subscribe(subscriber)
  const [local = '', domain = ''] = workspace.email.split('@')
  const similar = [`${local}+eve@${domain}`, `${workspace.email}.eve.example.com`, `%@${domain}`]
  for (const email of [other.email, invited, subscriber, ...similar]) {
    expect([email, await call('send_test', { campaignId, email })]).toEqual([
      email,
      {
        isError: true,
        value: {
          code: 'validation_error',
          message: 'email: must be the address of a member of this workspace',
          issues: [{ path: 'email', message: 'must be the address of a member of this workspace' }],
        },
      },
    ])
  }
  expect(await readTestAddresses()).toEqual([])
})

test('a template error of a draft returns issues with line and column', async () => {
  const html = '<p>Hello\n{{ contact.first_name }}</p>'
  const { isError, value } = await call('draft_campaign', { campaignId, html })
  expect(isError).toBe(true)
  expect(value['issues']).toEqual([
    { path: 'html', message: expect.stringMatching(/line 2.*column.*did you mean "contact.firstName"/) as unknown },
  ])
})

test('a change by a tool is attributed to the credential that called it', async () => {
  const { confirmationToken } = (await send()).value
  await send(confirmationToken)
  const { body } = await api.call<{ data: Json[] }>('GET', '/audit-log?action=campaign.sent', { key: workspace.token })
  const { body: me } = await api.call<{ apiKey: { id: string } }>('GET', '/auth/me', { key: workspace.key })
  expect(JSON.stringify(body.data[0])).toContain(me.apiKey.id)
})
