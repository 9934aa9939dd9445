/** kill -9 of the API while people use their preferences page. Each person uses one button, twice at once. */
import { isDeepStrictEqual } from 'node:util'
import { sendCampaign } from '@rapport/core/campaigns/send-campaign.ts'
import { type CampaignId, type ContactId, idOf, type ListId, uuidOf } from '@rapport/core/kernel/ids.ts'
import { addSubscriber } from '@rapport/core/lists/subscribers.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { hashEmail } from '@rapport/core/consent/hash-email.ts'
import { preferencesUrl } from '@rapport/core/consent/preferences-links.ts'
import { createTestCampaign, createTestContact, createTestList } from '@rapport/testing/fixtures/factories.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { chooseSeed, countRuns, createRandom } from '@rapport/testing/runs.ts'
import { expect, test } from 'vitest'
import { startApiProcess } from '../../test/api-process.ts'
import { countStatuses, freshAddress, freshEmail, startTestApi } from '../../test/testing.ts'

const api = useForFile(() => startTestApi())

const seed = chooseSeed(20_261_126)
const rounds = countRuns({ gate: 1, full: 20 })
const peoplePerButton = 6
const requestsAtOnce = 12

interface Person {
  contactId: ContactId
  email: string
  button: Button
  /** What the button posts. */
  form: string
}

/** The rows that the buttons write about a person. */
const untouched = {
  unsubscribed: 0,
  suppressions: 0,
  proofs: 0,
  events: 0,
  mails: 0,
  work: 0,
  exports: 0,
  counted: 0,
}
const done = {
  leave: { ...untouched, unsubscribed: 1, suppressions: 1, events: 1, counted: 1 },
  stop: { ...untouched, unsubscribed: 2, suppressions: 1, events: 2, counted: 1 },
  deny: { ...untouched, proofs: 1, events: 1 },
  data: { ...untouched, mails: 1, work: 1, exports: 1 },
}
type Button = keyof typeof done
const buttons = Object.keys(done) as Button[]

test(`kill -9 and twice at once: each button has its whole effect once (seed ${seed})`, async () => {
  const random = createRandom(seed)
  const { id } = await api.signUp()
  const ctx = api.ctx(id)
  const processes = await Promise.all(Array.from({ length: rounds }, () => startApiProcess(api.database.url)))
  for (const { main, url } of processes) {
    const { people, campaignId } = await sendToPeople(ctx)
    // Each button twice in a row, so that the two are on their way at once.
    const posts = people.toSorted(() => random() - 0.5).flatMap((person) => [person, person])
    const killAfter = 1 + Math.floor((random() * posts.length) / 2)
    let responses = 0
    const acknowledged = new Set<string>()
    const waiting = posts.values()
    async function post(): Promise<void> {
      for (const { email, form: body } of waiting) {
        const { status } = await fetch(`${url}/public/preferences`, { method: 'POST', headers: formHeaders(), body })
        if (status === 200) acknowledged.add(email)
        responses += 1
        if (responses === killAfter) main.kill('SIGKILL')
      }
    }
    await Promise.allSettled(Array.from({ length: requestsAtOnce }, post))
    expect(await main.exited).toEqual({ code: null, signal: 'SIGKILL' })

    const lost = []
    for (const [{ email, button }, state] of await readStates(ctx, people, campaignId)) {
      const isLost = isDeepStrictEqual(state, untouched)
      expect([button, state]).toEqual([button, isLost ? untouched : done[button]])
      if (isLost) lost.push(email)
    }
    expect(lost.filter((email) => acknowledged.has(email))).toEqual([])
    // The kill came in between.
    expect([lost.length, acknowledged.size]).not.toContain(0)

    const repeated = await Promise.all(
      posts.map(({ form: raw }) => api.call('POST', '/public/preferences', { raw, headers: formHeaders() })),
    )
    expect(countStatuses(repeated)).toEqual({ 200: posts.length })
    for (const [{ button }, state] of await readStates(ctx, people, campaignId))
      expect([button, state]).toEqual([button, done[button]])
    expect(await countUnsubscribed(ctx, campaignId)).toBe(2 * peoplePerButton)
  }
})

const formHeaders = () => ({
  accept: 'text/html',
  'content-type': 'application/x-www-form-urlencoded',
  'x-forwarded-for': freshAddress(),
})

/** Creates people on two lists, and the recipients of a campaign to the first one as a worker leaves them. */
async function sendToPeople(ctx: Ctx): Promise<{ people: Person[]; campaignId: CampaignId }> {
  const lists = [await createTestList(ctx), await createTestList(ctx)]
  const contacts = await Promise.all(
    Array.from({ length: buttons.length * peoplePerButton }, () => createTestContact(ctx, { email: freshEmail() })),
  )
  for (const { id } of lists)
    await Promise.all(contacts.map((one) => addSubscriber(ctx, id, { contactId: one.id, status: 'CONFIRMED' })))
  const [list] = lists
  const { id: campaignId } = await createTestCampaign(ctx, { ...(list && { listId: list.id }) })
  await sendCampaign(ctx, campaignId)
  await api.query(
    `insert into campaign_recipients (workspace_id, campaign_id, contact_id, batch_id, status)
     select workspace_id, campaign_id, unnest(contact_ids), id, 'SENT' from campaign_batches where campaign_id = $1`,
    [uuidOf(campaignId)],
  )
  const people = contacts.map(({ id: contactId, email }, index): Person => {
    const button = buttons[index % buttons.length] ?? 'leave'
    const token = new URL(preferencesUrl(ctx, { contactId, email, campaignId })).searchParams.get('token') ?? ''
    const form = new URLSearchParams({ token, ...fieldsOf(button, list?.id) }).toString()
    return { contactId, email, button, form }
  })
  return { people, campaignId }
}

function fieldsOf(button: Button, listId: ListId | undefined): Record<string, string> {
  const fields = {
    leave: { leave: listId ?? '' },
    stop: { stop: 'all' },
    deny: { tracking: 'save' },
    data: { data: 'email' },
  }
  return fields[button]
}

/** Reads the rows about each person, of one instant. */
async function readStates(ctx: Ctx, people: readonly Person[], campaignId: CampaignId) {
  const rows = await api.query(
    `select c.id as contact,
       (select count(*)::int from subscriptions s
        where s.workspace_id = c.workspace_id and s.contact_id = c.id and s.status = 'UNSUBSCRIBED') as unsubscribed,
       (select count(*)::int from suppressions s
        where s.workspace_id = c.workspace_id and s.email_hash = person.hash) as suppressions,
       (select coalesce(sum(jsonb_array_length(t.proofs)), 0)::int from tracking_consents t
        where t.workspace_id = c.workspace_id and t.contact_id = c.id) as proofs,
       (select count(*)::int from events e
        where e.workspace_id = c.workspace_id and e.contact_id = c.id
          and e.type in ('subscription.unsubscribed', 'tracking_consent.changed')) as events,
       (select count(*)::int from mails m
        where m.workspace_id = c.workspace_id and m.to_address = c.email) as mails,
       (select count(*)::int from work w join mails m on m.workspace_id = w.workspace_id and m.id = w.id
        where m.workspace_id = c.workspace_id and m.to_address = c.email) as work,
       (select count(*)::int from audit_entries a
        where a.workspace_id = c.workspace_id and a.subject_id = person.shown_id and a.action = 'contact.exported') as exports,
       (select count(*)::int from campaign_recipients r
        where r.workspace_id = c.workspace_id and r.campaign_id = $5 and r.contact_id = c.id
          and r.unsubscribed_at is not null) as counted
     from unnest($2::uuid[], $3::text[], $4::text[]) as person (id, hash, shown_id)
     join contacts c on c.workspace_id = $1 and c.id = person.id`,
    [
      uuidOf(ctx.workspaceId),
      people.map(({ contactId }) => uuidOf(contactId)),
      people.map(({ email }) => hashEmail(ctx, email)),
      people.map(({ contactId }) => contactId),
      uuidOf(campaignId),
    ],
  )
  const byContact = new Map(rows.map(({ contact, ...state }) => [idOf('con', String(contact)), state]))
  return people.map((person) => [person, byContact.get(person.contactId)] as const)
}

async function countUnsubscribed(ctx: Ctx, campaignId: CampaignId): Promise<unknown> {
  const [row] = await api.query(
    `select sum(unsubscribed)::int as count from campaign_batches where workspace_id = $1 and campaign_id = $2`,
    [uuidOf(ctx.workspaceId), uuidOf(campaignId)],
  )
  return row?.['count']
}
