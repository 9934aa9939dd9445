/**
 * What is simulated of bounces: reports about the emails of a campaign, while it goes on with others, another campaign
 * emails the same people, and calls move, merge, erase and opt out these.
 */
import type { Database } from '@rapport/core/db/client.ts'
import { resumeCampaign } from '@rapport/core/campaigns/lifecycle.ts'
import { sendCampaign } from '@rapport/core/campaigns/send-campaign.ts'
import { type ListId, uuidOf } from '@rapport/core/kernel/ids.ts'
import { addSubscriber } from '@rapport/core/lists/subscribers.ts'
import { createMailHook } from '@rapport/core/mail-hooks/mail-hooks.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { hashEmail } from '@rapport/core/consent/hash-email.ts'
import { releaseClaim } from '@rapport/core/work/claims.ts'
import { createConsentModel, findBroken, say } from '@rapport/testing/consent/consent-model.ts'
import { readMailable } from '@rapport/testing/consent/consent-steps.ts'
import { claimTestBatch, sendTestBatch } from '@rapport/testing/fixtures/campaign-work.ts'
import {
  createTestCampaign,
  createTestCtx,
  createTestList,
  createTestWorker,
  listPendingWork,
} from '@rapport/testing/fixtures/factories.ts'
import { providerSecrets } from '@rapport/testing/mail-providers/provider-messages.ts'
import { type Choices, pick } from '../choices.ts'
import type { Scenario } from '../world.ts'
import { checkGuard, checkRecipients, minComplaints, readCampaign } from './bounce-counts.ts'
import { checkSuppressions, type History, isSuppressing } from './bounce-suppressions.ts'
import { chooseReports, refusals, type SentMail } from './bounce-reports.ts'
import { chooseConsentCalls, people, watchCalls } from './consent-scenarios.ts'

/** Recipients whom the campaign has not emailed yet. There are no reports about them. */
const waiting = ['x', 'y'].map((name) => `${name}@example.com`)
const callNames = ['create', 'add', 'remove', 'signUp', 'click', 'block', 'optOut', 'undo', 'move', 'merge', 'erase']

/** Sends a campaign to the people, and leaves the others waiting in the same batch. */
async function sendFirst(ctx: Ctx, listId: ListId, earlierComplaints: number) {
  const { id } = await createTestCampaign(ctx, { listId })
  await sendCampaign(ctx, id)
  const [uuid] = await listPendingWork(ctx, 'campaigns')
  const batch = await claimTestBatch(ctx, uuid, await createTestWorker(ctx.db))
  const { recipients } = await sendTestBatch(ctx, batch, { to: people.length, providerPrefix: 'first' })
  await releaseClaim(ctx, batch.claim, 'retry')
  await ctx.db.$client.query('update campaign_batches set complained = $1 where workspace_id = $2', [
    earlierComplaints,
    uuidOf(ctx.workspaceId),
  ])
  const mails = recipients.map(({ id: contactId, email }): SentMail => {
    return { campaignId: id, contactId, email, providerId: `first-${email.split('@')[0]}` }
  })
  return { id, mails, earlierComplaints }
}

/** The SOFT bounces of earlier emails to a person, in days before now: one short of the rule, too few, or too close. */
const histories = [[10, 2], [10], [3, 1], []]

async function addHistory(ctx: Ctx, choices: Choices): Promise<History> {
  const history = new Map(people.map((email) => [email, pick(choices, histories)]))
  for (const [email, days] of history)
    for (const ago of days)
      await ctx.db.$client.query(
        `insert into soft_bounces (workspace_id, email_hash, mailed_at) values ($1, $2, now() - make_interval(days => $3))`,
        [uuidOf(ctx.workspaceId), hashEmail(ctx, email), ago],
      )
  return history
}

export async function prepareBounces(database: Database, choices: Choices): Promise<Scenario> {
  const ctx = await createTestCtx(database.db)
  const lists = [(await createTestList(ctx)).id, (await createTestList(ctx)).id] as const
  const [firstList, secondList] = lists
  for (const email of [...people, ...waiting]) await addSubscriber(ctx, firstList, { email, status: 'CONFIRMED' })
  for (const email of people) await addSubscriber(ctx, secondList, { email, status: 'CONFIRMED' })
  const first = await sendFirst(ctx, firstList, pick(choices, [9, 8, 7]))
  await sendCampaign(ctx, (await createTestCampaign(ctx, { listId: secondList })).id)
  const history = await addHistory(ctx, choices)
  const { id: hookId } = await createMailHook(ctx, { provider: 'postmark', secret: providerSecrets.postmark })
  const reports = chooseReports(choices, { mails: first.mails, hookId })
  const consentCalls = chooseConsentCalls(choices, { lists, names: callNames, count: 6 })
  const { calls, apply, add } = watchCalls(consentCalls)
  const facts = { ctx, first, reports, consentCalls, history, waiting }
  const pauses: string[] = []
  let resumedAt: number | undefined

  return {
    ctx,
    calls: [...reports, ...calls],
    refusals,
    isRecoveredAtOnce: true,
    /** A user resumes what the guard has paused. */
    async finish(trace) {
      const { status, reason, complained } = await readCampaign(ctx, first.id)
      if (status !== 'PAUSED') return
      if (complained < minComplaints || reason === null)
        pauses.push(`the campaign pauses at ${complained} complaints: ${reason}`)
      resumedAt ??= trace.length
      await resumeCampaign(ctx, first.id)
    },
    async check({ sent }, trace) {
      const model = createConsentModel(lists)
      for (const { name, mail, class: kind, isMade, isProven } of reports) {
        const scope = kind === 'COMPLAINT' ? 'all' : 'bounce'
        if (isMade && isProven && isSuppressing(kind)) add(name, say({ email: mail.email, scope }))
      }
      apply(model, trace)
      return [
        ...pauses,
        ...findBroken(model, await readMailable(ctx)),
        ...(await checkSuppressions(facts, { sent, trace })),
        ...(await checkRecipients(facts, sent)),
        ...(await checkGuard(facts, { sent, trace, resumedAt: resumedAt ?? trace.length })),
      ]
    },
  }
}
