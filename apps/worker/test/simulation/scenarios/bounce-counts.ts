/** What a campaign counts of the reports of a simulation, which events they emit, and when its guard pauses it. */
import { findCurrentContact } from '@rapport/core/contacts/contact-aliases.ts'
import { type CampaignId, idOf, uuidOf } from '@rapport/core/kernel/ids.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { isCommitOf } from '../trace-checks.ts'
import type { Sent } from '../world.ts'
import type { Facts, Happened } from './bounce-suppressions.ts'

/** More complaints pause a campaign, however few emails it has. */
export const minComplaints = 10

interface CampaignState {
  status: string
  /** Why a worker paused it. */
  reason: string | null
  bounced: number
  complained: number
}

export async function readCampaign(ctx: Ctx, id: CampaignId): Promise<CampaignState> {
  const { rows } = await ctx.db.$client.query<CampaignState>(
    `select c.status, c.pause_reason as reason, sum(b.bounced)::int as bounced, sum(b.complained)::int as complained
     from campaigns c join campaign_batches b on b.workspace_id = c.workspace_id and b.campaign_id = c.id
     where c.workspace_id = $1 and c.id = $2 group by c.status, c.pause_reason`,
    [uuidOf(ctx.workspaceId), uuidOf(id)],
  )
  if (!rows[0]) throw new Error('There is no campaign')
  return rows[0]
}

interface Recipient {
  contact_id: string
  bounce_class: string | null
  has_bounced: boolean
  has_complained: boolean
}

async function readRecipients({ ctx, first }: Facts): Promise<Recipient[]> {
  const { rows } = await ctx.db.$client.query<Recipient>(
    `select contact_id, bounce_class, bounced_at is not null as has_bounced, complained_at is not null as has_complained
     from campaign_recipients where workspace_id = $1 and campaign_id = $2`,
    [uuidOf(ctx.workspaceId), uuidOf(first.id)],
  )
  return rows
}

/** Each report counts once for its recipient, in the counters and as an event, and no event shows an address that was erased. */
export async function checkRecipients(facts: Facts, sent: readonly Sent[]): Promise<string[]> {
  const { ctx, first } = facts
  const recipients = await readRecipients(facts)
  const broken: string[] = []
  let mostBounces = sent.filter(({ bounce }) => bounce).length
  let leastComplaints = 0
  for (const { email, contactId } of first.mails) {
    const made = facts.reports.filter(({ mail, isMade }) => isMade && mail.email === email)
    const classes = new Set(made.map((report) => report.class))
    const hasComplained = classes.delete('COMPLAINT')
    mostBounces += classes.size
    const one = recipients.find((recipient) => idOf('con', recipient.contact_id) === contactId)
    const isErased = !(await findCurrentContact(ctx, contactId))
    if (one?.has_complained && !isErased) leastComplaints++
    const expected = classes.has('HARD') ? ['HARD'] : [...classes]
    const fits = classes.size === 0 ? one?.bounce_class === null : expected.some((kind) => kind === one?.bounce_class)
    if (isErased ? one?.bounce_class && !classes.has('HARD') && !fits : !fits)
      broken.push(`${email} has the class ${one?.bounce_class}, but reports of ${[...classes].join(', ')}`)
    for (const [has, was, what] of [
      [one?.has_bounced, classes.has('HARD'), 'bounced'],
      [one?.has_complained, hasComplained, 'complained'],
    ] as const)
      if (has ? !was : was && !isErased) broken.push(`${email} ${has ? 'counts' : 'does not count'} as ${what}`)
  }
  const { bounced, complained } = await readCampaign(ctx, first.id)
  const countOf = (key: 'has_bounced' | 'has_complained') => recipients.filter((one) => one[key]).length
  if (bounced !== countOf('has_bounced')) broken.push(`${bounced} bounced by the counter`)
  const complaints = countOf('has_complained')
  if (complained !== complaints + first.earlierComplaints) broken.push(`${complained} complained by the counter`)
  const events = await readEvents(facts)
  const ofType = (type: string) => events.filter((event) => event.type === type)
  const [bounces, emitted] = [ofType('mail.bounced').length, ofType('mail.complained').length]
  if (bounces > mostBounces) broken.push(`there are ${bounces} events mail.bounced of ${mostBounces} bounces`)
  // One that is reported after the erasure counts, and emits no event.
  if (emitted < leastComplaints || emitted > complaints)
    broken.push(`there are ${emitted} events mail.complained of ${complaints} complaints`)
  for (const { email, contactId } of first.mails) {
    if (await findCurrentContact(ctx, contactId)) continue
    if (events.some((event) => event.email === email && !event.has_contact))
      broken.push(`an event shows ${email}, who was erased`)
  }
  return broken
}

async function readEvents({ ctx }: Facts) {
  const { rows } = await ctx.db.$client.query<{ type: string; email: string | null; has_contact: boolean }>(
    `select type, data ->> 'email' as email, exists (
       select from contacts c left join contact_aliases a on a.workspace_id = c.workspace_id and a.contact_id = c.id
       where c.workspace_id = e.workspace_id and e.contact_id in (c.id, a.id)) as has_contact
     from events e where workspace_id = $1 and type like 'mail.%'`,
    [uuidOf(ctx.workspaceId)],
  )
  return rows
}

/** A job that begins after the complaints have reached the limit sends nothing, until a user resumes the campaign. */
export async function checkGuard(
  facts: Facts,
  { sent, trace, resumedAt }: Happened & { resumedAt: number },
): Promise<string[]> {
  const recipients = await readRecipients(facts)
  const counted = facts.first.mails.filter(({ contactId }) =>
    recipients.some((one) => one.has_complained && idOf('con', one.contact_id) === contactId),
  )
  const rows = counted.map(({ email }) => {
    const names = facts.reports.filter((report) => report.class === 'COMPLAINT' && report.mail.email === email)
    const committed = names.map(({ name }) => trace.findIndex(isCommitOf(name))).filter((row) => row >= 0)
    return Math.min(...committed)
  })
  const passedAt = rows.toSorted((a, b) => a - b)[minComplaints - facts.first.earlierComplaints - 1] ?? Infinity
  const late = sent.filter(({ subject, who, step }) => {
    const beganAt = trace.findIndex((entry) => entry.who === who)
    return facts.waiting.includes(subject) && step < resumedAt && beganAt > passedAt
  })
  return late.map(({ subject }) => `${subject} was emailed at ${minComplaints} complaints`)
}
