/** What the attack found: names, and the shortest story of each. */
import { judge, type Violation } from './judge.ts'
import type { WrongStatus } from './judge-statuses.ts'
import { mayHaveHappened, type PersonLog, type Request } from './log.ts'
import type { No } from './statements.ts'

export type Finding =
  | ({ kind: 'violation' } & Violation)
  | { kind: 'failure'; request: Request; log: PersonLog }
  | ({ kind: 'status' } & WrongStatus)
  | { kind: 'audience'; list: string; willReceive: number; queued: number; sent: number; skipped: number }

export function nameOf(finding: Finding): string {
  if (finding.kind === 'failure') return `${finding.request.verb} is a ${finding.request.status}`
  if (finding.kind === 'audience') return 'the audience is not what is sent'
  if (finding.kind === 'status') return `${finding.shown.status}: ${finding.why}`
  const how = finding.answered?.verb ?? finding.observed.what.replace(/\d+ /, '')
  return `${how} against ${describeNo(finding.no)}`
}

const describeNo = ({ reason, source, isCopied }: No) =>
  `${reason}${source && ` of ${source}`}${isCopied ? ' that was copied' : ''}`

/** Groups findings by name, each with the shortest of its stories. */
export function describeFindings(findings: readonly Finding[], lists: readonly string[]): string[] {
  const groups = Map.groupBy(findings, nameOf)
  return [...groups].map(([name, group]) => {
    const stories = group.slice(0, 20).map((finding) => tell(finding, lists))
    const [shortest = ''] = stories.toSorted((one, other) => one.split('\n').length - other.split('\n').length)
    return `${name} (${group.length} times)\n${shortest}`
  })
}

function tell(finding: Finding, lists: readonly string[]): string {
  if (finding.kind === 'audience') {
    const { list, willReceive, queued, sent, skipped } = finding
    return `  ${list}: the audience is ${willReceive}, ${queued} are queued, ${sent} sent, ${skipped} skipped`
  }
  if (finding.kind === 'failure') return tellRequests([finding.request], finding.request.sentAt)
  if (finding.kind === 'status') {
    const { shown, log } = finding
    const requests = log.requests.filter((request) => mayHaveHappened(request) && request.verb !== 'find')
    return `${tellRequests(requests, requests[0]?.sentAt ?? 0)}\n  ${shown.address} on ${shown.list} is ${shown.status}`
  }
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
    request === no.request ||
    request === answered ||
    request.means.some(({ kind }) => /^(move|merge|erasure)$/.test(kind)) ||
    (request.endedAt >= no.saidAt && request.verb !== 'find')
  let requests = log.requests.filter((request) => request.sentAt <= observed.at && mayHaveHappened(request))
  for (const request of requests) {
    const without = requests.filter((one) => one !== request)
    if (!isNeeded(request) && isSame(without)) requests = without
  }
  return requests.toSorted((one, other) => one.sentAt - other.sentAt)
}
