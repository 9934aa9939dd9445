/** What the attack found: names, known ones, and the shortest story of each. */
import { judge, type Violation } from './judge.ts'
import { isAnswered, mayHaveHappened, type PersonLog, type Request } from './log.ts'
import type { No } from './statements.ts'

export type Finding =
  | ({ kind: 'violation' } & Violation)
  | { kind: 'failure'; request: Request; log: PersonLog }
  | { kind: 'audience'; list: string; willReceive: number; queued: number; sent: number; skipped: number }

/**
 * What is known of the code of today. The redesign of consent deletes each of these with the code that causes it: the
 * attack then finds it again if it returns.
 */
export const knownFindings: Record<string, (finding: Finding) => boolean> = {
  'the undo of the person reverts a later "no"': (finding) =>
    finding.kind === 'violation' && finding.answered?.verb === 'undo',
  'a link that was mailed before a repeated opt-out confirms after it': (finding) =>
    finding.kind === 'violation' && finding.answered?.verb === 'link' && isRepeatedAfterLink(finding),
  'a second complaint of the same day is dropped': (finding) =>
    finding.kind === 'violation' && finding.no.reason === 'COMPLAINED' && listEarlier(finding, isComplaint).length > 0,
  'a return to one list opens the lists that the contact never joined': (finding) =>
    finding.kind === 'violation' && finding.no.isOfAll && hasReturnedElsewhere(finding),
  'a request that deadlocks with another one, such as leaving all beside an import, is a 503': (finding) =>
    finding.kind === 'failure' && finding.request.status === 503,
  'a mail that waits for longer than a second does not ask again': (finding) =>
    finding.kind === 'violation' && finding.no.endedAt >= (finding.observed.campaignSentAt ?? Infinity),
  'the audience counts addresses that are skipped': (finding) =>
    finding.kind === 'audience' && finding.skipped > 0 && finding.willReceive === finding.queued,
}

/** A link to another list has withdrawn what was said of all. */
const hasReturnedElsewhere = ({ no, log, observed }: Violation) =>
  log.requests.some(
    (request) =>
      isAnswered(request) &&
      request.sentAt < observed.at &&
      request.endedAt >= no.saidAt &&
      request.means.some((one) => one.kind === 'link' && one.list !== no.list),
  )

/** Something against the address was said before the link was mailed, and again later. */
function isRepeatedAfterLink({ no, answered, log }: Violation): boolean {
  const mailedAt = answered?.means.map((one) => (one.kind === 'link' ? one.mailedAt : 0))[0] ?? 0
  return listEarlier({ no, log }, (request) => request.sentAt < mailedAt && isNo(request)).length > 0
}

const listEarlier = ({ no, log }: Pick<Violation, 'no' | 'log'>, matches: (request: Request) => boolean) =>
  log.requests.filter((request) => request !== no.request && request.sentAt < no.endedAt && matches(request))

const isNo = ({ means }: Request) => means.some(({ kind }) => kind === 'no')
const isComplaint = ({ means }: Request) => means.some((one) => one.kind === 'no' && one.reason === 'COMPLAINED')

export function nameOf(finding: Finding): string {
  const known = Object.entries(knownFindings).find(([, matches]) => matches(finding))
  if (known) return known[0]
  if (finding.kind === 'failure') return `${finding.request.verb} is a ${finding.request.status}`
  if (finding.kind === 'audience') return 'the audience is not what is sent'
  const how = finding.answered?.verb ?? finding.observed.what.replace(/\d+ /, '')
  return `${how} against ${describeNo(finding.no)}`
}

export const isKnown = (name: string): boolean => name in knownFindings

const describeNo = ({ reason, source, isCopied }: No) =>
  `${reason}${source && ` of ${source}`}${isCopied ? ' that was copied' : ''}`

/** Groups findings by name, each with the shortest of its stories. */
export function describeFindings(findings: readonly Finding[], lists: readonly string[]): string[] {
  const groups = Map.groupBy(findings, nameOf)
  return [...groups].map(([name, group]) => {
    const stories = group.slice(0, 20).map((finding) => tell(finding, lists))
    const [shortest = ''] = stories.toSorted((one, other) => one.split('\n').length - other.split('\n').length)
    return `${isKnown(name) ? 'known: ' : ''}${name} (${group.length} times)\n${shortest}`
  })
}

function tell(finding: Finding, lists: readonly string[]): string {
  if (finding.kind === 'audience') {
    const { list, willReceive, queued, sent, skipped } = finding
    return `  ${list}: the audience is ${willReceive}, ${queued} are queued, ${sent} sent, ${skipped} skipped`
  }
  if (finding.kind === 'failure') return tellRequests([finding.request], finding.request.sentAt)
  const { observed, no } = finding
  const requests = shorten(finding, lists)
  const startedAt = requests[0]?.sentAt ?? observed.at
  const end = `  ${String(observed.at - startedAt).padStart(6)} ms  ${observed.what}, against ${describeNo(no)} of ${no.address} on ${no.list}`
  return `${tellRequests(requests, startedAt)}\n${end}`
}

const tellRequests = (requests: readonly Request[], startedAt: number) =>
  requests
    .map(({ what, sentAt, endedAt, status }) => {
      const times = `${String(sentAt - startedAt).padStart(6)} ms to ${String(endedAt - startedAt).padStart(6)} ms`
      return `  ${times}  ${what.replace(/(?<=token=.{12})[\w.-]+/, '…')}: ${status}`
    })
    .join('\n')

/** Leaves out what the judge does not need for this violation, but of what came after the "no" only what was refused. */
function shorten({ observed, no, answered, log }: Violation, lists: readonly string[]): Request[] {
  const isSame = (requests: Request[]) =>
    judge({ ...log, requests }, lists).some(
      (one) => one.observed.what === observed.what && one.observed.at === observed.at && one.no.request === no.request,
    )
  const isNeeded = (request: Request) =>
    request === no.request || request === answered || (request.endedAt >= no.saidAt && request.verb !== 'find')
  let requests = log.requests.filter((request) => request.sentAt <= observed.at && mayHaveHappened(request))
  for (const request of requests) {
    const without = requests.filter((one) => one !== request)
    if (!isNeeded(request) && isSame(without)) requests = without
  }
  return requests.toSorted((one, other) => one.sentAt - other.sentAt)
}
