/**
 * What is simulated: single mails, a campaign, one that is canceled before its first job, the drain of two webhooks,
 * consent, an import, bounces, deals, emails to one person. Each has its data, its calls and its promises.
 */
import type { Database } from '@rapport/core/db/client.ts'
import { cancelCampaign, pauseCampaign, resumeCampaign } from '@rapport/core/campaigns/lifecycle.ts'
import { sendCampaign } from '@rapport/core/campaigns/send-campaign.ts'
import { inTransaction } from '@rapport/core/request/context.ts'
import { createContact } from '@rapport/core/contacts/create-contact.ts'
import { NewContact } from '@rapport/core/contacts/contacts.schema.ts'
import { idOf, uuidOf } from '@rapport/core/kernel/ids.ts'
import { subscribe } from '@rapport/core/lists/subscribe.ts'
import { unsubscribeUrl } from '@rapport/core/lists/subscription-links.ts'
import { enqueueMail } from '@rapport/core/mail/mails.ts'
import { unsubscribe } from '@rapport/core/operations/contacts/unsubscribe.ts'
import { updateWebhook } from '@rapport/core/operations/webhooks/save-webhook.ts'
import {
  addSubscribers,
  createTestCampaign,
  createTestCtx,
  createTestList,
  createTestWebhook,
} from '@rapport/testing/fixtures/factories.ts'
import { addBacklog } from '@rapport/testing/fixtures/webhook-backlogs.ts'
import { prepareBounces } from './scenarios/bounce-scenario.ts'
import type { Choices } from './choices.ts'
import { prepareDeals } from './scenarios/deal-scenario.ts'
import { prepareConsent, prepareImport } from './scenarios/consent-scenarios.ts'
import { prepareEmails } from './scenarios/email-scenario.ts'
import type { Scheduler } from './scheduler.ts'
import { isCommitOf, listClaimedAfter } from './trace-checks.ts'
import { type Scenario, type Sent, type World } from './world.ts'

export const scenarios: Record<string, (database: Database, choices: Choices) => Promise<Scenario>> = {
  mails: prepareMails,
  campaign: (database) => prepareCampaign(database, { isCanceled: false }),
  cancellation: (database) => prepareCampaign(database, { isCanceled: true }),
  drain: prepareDrain,
  consent: prepareConsent,
  import: prepareImport,
  bounces: prepareBounces,
  deals: prepareDeals,
  emails: prepareEmails,
}

/** Whether a fault of this run lets a worker lose a claim. A lost statement or response does not: it is undone. */
const mayLoseClaim = (trace: Scheduler['trace']) =>
  trace.some(({ what, outcome }) => /^(kill|expire|freeze|shut down)/.test(what) || /^(fails|late)$/.test(outcome))

const hasUnknownOutcome = (trace: Scheduler['trace']) => trace.some(({ outcome }) => /, \w+ lost$/.test(outcome))

/** Whether a job received the response and ended without an error, so that it has recorded the outcome. */
const isRecorded = (sent: readonly Sent[], subject: string) =>
  sent.some((one) => one.subject === subject && one.hasResponse && one.task.isEnded && !one.task.hasFailed)

const countArrived = (sent: readonly Sent[], subject: string) =>
  sent.filter((one) => one.subject === subject && one.hasArrived).length

const listBroken = (promises: readonly (string | false)[]): string[] => promises.filter((text) => text !== false)

async function prepareMails(database: Database): Promise<Scenario> {
  const ctx = await createTestCtx(database.db)
  const list = await createTestList(ctx)
  const { id: campaignId } = await createTestCampaign(ctx, { listId: list.id })
  await subscribe(ctx, list.id, { email: 'confirm@example.com', firstName: '', lastName: '' })
  const data = { campaignId, contactId: null }
  await enqueueMail(ctx, { kind: 'CAMPAIGN_TEST', to: 'test@example.com', data })
  async function check({ sent }: World, trace: Scheduler['trace']) {
    const { rows } = await database.pool.query<MailRow>(
      'select to_address, status, attempts, kind from mails where workspace_id = $1',
      [uuidOf(ctx.workspaceId)],
    )
    return rows.flatMap(({ to_address: to, status, attempts, kind }) => {
      const arrived = countArrived(sent, to)
      // A confirmation is repeated if its outcome is unknown.
      const most = kind === 'CAMPAIGN_TEST' || !(mayLoseClaim(trace) || hasUnknownOutcome(trace)) ? 1 : 3
      return listBroken([
        arrived > most && `${to} got ${arrived} mails`,
        /PENDING|SENDING/.test(status) && `${to} is ${status}`,
        attempts > 3 && `${to} has ${attempts} attempts`,
        status === 'SENT' && arrived === 0 && `${to} is SENT, but got no mail`,
        status === 'FAILED' && kind === 'CAMPAIGN_TEST' && arrived > 0 && `${to} is FAILED, but got a mail`,
        status === 'INTERRUPTED' && isRecorded(sent, to) && `${to} is INTERRUPTED, but its outcome was recorded`,
        wasNeverOut(status, sent, to) && !mayLoseClaim(trace) && `${to} is INTERRUPTED, but was never out`,
      ])
    })
  }
  return { ctx, calls: [], isRecoveredAtOnce: false, finish: async () => {}, check }
}

interface MailRow {
  to_address: string
  status: string
  attempts: number
  kind: string
}

const wasNeverOut = (status: string, sent: readonly Sent[], subject: string) =>
  status === 'INTERRUPTED' && !sent.some((one) => one.subject === subject)

async function prepareCampaign(database: Database, { isCanceled }: { isCanceled: boolean }): Promise<Scenario> {
  const ctx = await createTestCtx(database.db)
  const list = await createTestList(ctx)
  const contactIds = await addSubscribers(ctx, list.id, { count: 4 })
  const { id } = await createTestCampaign(ctx, { listId: list.id })
  const [leaving] = contactIds
  if (!leaving) throw new Error('The campaign has no recipients')
  await sendCampaign(ctx, id)
  if (isCanceled) await cancelCampaign(ctx, id)
  const url = unsubscribeUrl(ctx, { listId: list.id, contactId: leaving, email: 'person-1@example.com' })
  const token = new URL(url).searchParams.get('token') ?? ''
  const calls = [
    { name: 'pause', call: (ctx: Scenario['ctx']) => pauseCampaign(ctx, id) },
    { name: 'resume', call: (ctx: Scenario['ctx']) => resumeCampaign(ctx, id) },
    { name: 'cancel', call: (ctx: Scenario['ctx']) => cancelCampaign(ctx, id) },
    { name: 'unsubscribe', call: (ctx: Scenario['ctx']) => unsubscribe(ctx, token) },
  ]

  async function check({ sent }: World, trace: Scheduler['trace']) {
    const { rows } = await database.pool.query<{ email: string; status: string | null }>(
      `select email, r.status from contacts c left join campaign_recipients r
         on r.workspace_id = c.workspace_id and r.contact_id = c.id where c.workspace_id = $1`,
      [uuidOf(ctx.workspaceId)],
    )
    const broken = rows.flatMap(({ email, status }) => {
      const arrived = countArrived(sent, email)
      return listBroken([
        arrived > (isCanceled ? 0 : 1) && `${email} got ${arrived} mails`,
        status === 'SENT' && arrived === 0 && `${email} is SENT, but got no mail`,
        arrived > 0 && !/^(SENT|INTERRUPTED)$/.test(status ?? '') && `${email} is ${status}, but got a mail`,
        status === 'INTERRUPTED' && isRecorded(sent, email) && `${email} is INTERRUPTED, but its outcome was recorded`,
        wasNeverOut(status ?? '', sent, email) && !mayLoseClaim(trace) && `${email} is INTERRUPTED, but was never out`,
      ])
    })
    return [...broken, ...(await checkSums()), ...checkStops(sent, trace)]
  }

  /** The counters are those of the rows, and the campaign has ended once. */
  async function checkSums(): Promise<string[]> {
    const { rows } = await database.pool.query<Record<'counted' | 'stored' | 'ends', unknown> & { status: string }>(
      `select c.status, (select count(*)::int from events e where e.workspace_id = c.workspace_id and type = 'campaign.sent') as ends,
         (select json_build_array(sum(sent), sum(failed), sum(skipped), sum(interrupted), bool_and(b.status = 'DONE'))
          from campaign_batches b where b.workspace_id = c.workspace_id) as stored,
         (select json_build_array(count(*) filter (where r.status = 'SENT'), count(*) filter (where r.status = 'FAILED'),
           count(*) filter (where r.status = 'SKIPPED'), count(*) filter (where r.status = 'INTERRUPTED'), count(*) = c.queued)
          from campaign_recipients r where r.workspace_id = c.workspace_id and r.status not in ('WAITING', 'SENDING')) as counted
       from campaigns c where c.workspace_id = $1`,
      [uuidOf(ctx.workspaceId)],
    )
    return rows.flatMap(({ status, ends, counted, stored }) => {
      const expectedEnds = status === 'SENT' ? 1 : 0
      return listBroken([
        JSON.stringify(counted) !== JSON.stringify(stored) &&
          `counters ${JSON.stringify(stored)}, rows ${JSON.stringify(counted)}`,
        !/SENT|CANCELED/.test(status) && `the campaign is ${status}`,
        ends !== expectedEnds && `the campaign is ${status} with ${String(ends)} events campaign.sent`,
      ])
    })
  }

  function checkStops(sent: readonly Sent[], trace: Scheduler['trace']): string[] {
    const findClaimedAfter = (call: string) => listClaimedAfter(trace.findLastIndex(isCommitOf(call)), sent, trace)
    const optedOut = findClaimedAfter('unsubscribe').filter(({ subject }) => subject === 'person-1@example.com')
    return listBroken([
      ...optedOut.map(({ subject }) => `${subject} was claimed after the opt-out`),
      ...findClaimedAfter('cancel').map(({ subject }) => `${subject} was claimed after the cancel`),
    ])
  }

  async function finish() {
    await resumeCampaign(ctx, id).catch(() => {})
  }
  return { ctx, calls, isRecoveredAtOnce: true, finish, check }
}

async function prepareDrain(database: Database): Promise<Scenario> {
  const ctx = await createTestCtx(database.db)
  const { id } = await createTestWebhook(ctx)
  await addBacklog(ctx, id, 3)
  // Its events are its own, so that each request belongs to one delivery.
  await addBacklog(ctx, (await createTestWebhook(ctx, { eventTypes: ['deal.created'] })).id, 2)
  const create = (ctx: Scenario['ctx']) =>
    inTransaction(ctx, (ctx) => createContact(ctx, NewContact.parse({ email: 'new@example.com' })))
  const calls = [
    { name: 'create', call: create },
    { name: 'disable', call: (ctx: Scenario['ctx']) => updateWebhook(ctx, id, { enabled: false }) },
  ]

  async function check({ sent }: World, trace: Scheduler['trace']) {
    const { rows } = await database.pool.query<{ event_id: string; status: string; error: string | null }>(
      'select event_id, status, error from deliveries where workspace_id = $1',
      [uuidOf(ctx.workspaceId)],
    )
    const broken = rows.flatMap(({ event_id, status, error }, index) => {
      const event = idOf('evt', event_id)
      const arrived = countArrived(sent, event)
      const wasDisabled = error === 'The webhook was disabled'
      return listBroken([
        arrived > 1 && `delivery ${index} arrived ${arrived} times`,
        status === 'PENDING' && `delivery ${index} is PENDING`,
        status === 'SUCCEEDED' && arrived === 0 && `delivery ${index} SUCCEEDED, but never arrived`,
        status === 'FAILED' &&
          wasDisabled === arrived > 0 &&
          `delivery ${index} FAILED (${error}) and arrived ${arrived} times`,
        status === 'INTERRUPTED' &&
          isRecorded(sent, event) &&
          `delivery ${index} is INTERRUPTED, but its outcome was recorded`,
        wasNeverOut(status, sent, event) &&
          !mayLoseClaim(trace) &&
          `delivery ${index} is INTERRUPTED, but was never out`,
      ])
    })
    if (
      rows.length <
      (trace.some(isCommitOf('create')) && !trace.some(({ who }) => who.startsWith('api disable')) ? 6 : 5)
    )
      broken.push(`there are ${rows.length} deliveries`)
    return broken
  }
  return { ctx, calls, isRecoveredAtOnce: true, finish: async () => {}, check }
}
