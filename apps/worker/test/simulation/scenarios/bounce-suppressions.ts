/** Which addresses must be suppressed after the reports of a simulation, and which must not. */
import { findCurrentContact } from '@rapport/core/contacts/contact-aliases.ts'
import type { CampaignId } from '@rapport/core/kernel/ids.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { readSuppressions } from '@rapport/core/consent/consent-records.ts'
import type { TraceEntry } from '../tasks.ts'
import { isCommitOf, listClaimedAfter } from '../trace-checks.ts'
import type { Sent } from '../world.ts'
import type { Report, SentMail } from './bounce-reports.ts'
import { addresses, type ConsentCall, findMove } from './consent-scenarios.ts'

/** The SOFT bounces of earlier emails, in days before now. */
export type History = ReadonlyMap<string, readonly number[]>

/** What a simulation has prepared and chosen. */
export interface Facts {
  ctx: Ctx
  first: { id: CampaignId; mails: readonly SentMail[]; earlierComplaints: number }
  reports: readonly Report[]
  consentCalls: readonly ConsentCall[]
  history: History
  /** Those whom the first campaign had not emailed at the start. */
  waiting: readonly string[]
}

export interface Happened {
  sent: readonly Sent[]
  trace: readonly TraceEntry[]
}

/** Whether the job that the mail server refused has recorded it. */
const isRecorded = ({ hasResponse, task }: Sent) => hasResponse && task.isEnded && !task.hasFailed

export async function checkSuppressions(facts: Facts, { sent, trace }: Happened): Promise<string[]> {
  const { ctx, waiting } = facts
  const reports = facts.reports.filter(({ isMade }) => isMade)
  const complaints = reports.filter((report) => report.class === 'COMPLAINT')
  const broken: string[] = []
  const suppressed = new Map<string, string[]>()
  for (const email of [...addresses, ...waiting])
    suppressed.set(
      email,
      (await readSuppressions(ctx, { email })).map(({ reason }) => reason),
    )
  const has = (email: string, reason: string) => suppressed.get(email)?.includes(reason) ?? false

  for (const email of suppressed.keys()) {
    const refused = sent.filter(({ subject, bounce }) => subject === email && bounce?.class === 'HARD')
    const hasBounced = reports.some((report) => report.class === 'HARD' && report.mail.email === email)
    const mayBounce = hasBounced || refused.length > 0 || isUndeliverable(email, () => true)
    const mustBounce = refused.some(isRecorded) || (isUntouched(email) && isUndeliverable(email, isRecorded))
    if (has(email, 'BOUNCED') && !mayBounce) broken.push(`${email} is suppressed, but has no bounce that suppresses`)
    if (!has(email, 'BOUNCED') && mustBounce) broken.push(`${email} bounced, but is not suppressed`)
    const mayComplain = complaints.some(({ mail }) => listShared(mail.email).has(email))
    if (has(email, 'COMPLAINED') && !mayComplain) broken.push(`${email} is suppressed by a complaint of another person`)
  }

  for (const { class: kind, mail, isProven, name } of reports.filter((report) => isSuppressing(report.class))) {
    const reason = kind === 'HARD' ? 'BOUNCED' : 'COMPLAINED'
    const present = await findCurrentContact(ctx, mail.contactId)
    const emails = [
      ...(isProven || present ? [mail.email] : []),
      ...(present && kind === 'COMPLAINT' ? [present.email] : []),
    ]
    for (const email of emails)
      if (!has(email, reason)) broken.push(`${email} is not suppressed as ${reason} after ${name}`)
    if (!isProven) continue
    const late = listClaimedAfter(trace.findIndex(isCommitOf(name)), sent, trace).filter(
      // Who complained may return: a sign-up is asked to confirm.
      ({ subject, who }) => subject === mail.email && (kind === 'HARD' || who.includes(' campaigns ')),
    )
    if (late.length > 0) broken.push(`${mail.email} was claimed after ${name}`)
  }
  return broken

  /** Three mails, of which the first and the last are at least seven days apart. There are no mails without a bounce. */
  function isUndeliverable(email: string, isCounted: (one: Sent) => boolean): boolean {
    const days = facts.history.get(email) ?? []
    const isReported = reports.some(
      (report) => report.class === 'SOFT' && !report.isOfOtherAddress && report.mail.email === email,
    )
    const refused = sent.filter((one) => one.subject === email && one.bounce?.class === 'SOFT' && isCounted(one))
    return days.length + (isReported ? 1 : 0) + refused.length >= 3 && Math.max(0, ...days) >= 7
  }

  /** Whether the contact has the address all the time. */
  function isUntouched(email: string): boolean {
    return !facts.consentCalls.some(
      ({ name, picked }) => /^(move|merge|erase)/.test(name) && (picked.email === email || picked.other === email),
    )
  }

  /** The addresses for which a complaint about one may hold: a move or a merge shares it between both addresses. */
  function listShared(email: string): Set<string> {
    const shared = new Set([email])
    const moves = facts.consentCalls.flatMap((call) => findMove(call) ?? [])
    // Each round finds those that are one more move away.
    for (const _ of moves)
      for (const { from, to } of moves) if (shared.has(from) || shared.has(to)) shared.add(from).add(to)
    return shared
  }
}

export const isSuppressing = (kind: Report['class']) => kind === 'HARD' || kind === 'COMPLAINT'
