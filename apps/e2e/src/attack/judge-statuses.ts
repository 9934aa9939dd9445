/**
 * Judges the statuses that are shown when nothing happens any more: each needs a request that may have caused it, and a
 * consent that nothing may have ended since is CONFIRMED. It imports nothing of the code under attack.
 */
import {
  all,
  isAnswered,
  type Meaning,
  mayHaveHappened,
  type PersonLog,
  type Request,
  type ShownStatus,
} from './log.ts'

export interface WrongStatus {
  shown: ShownStatus
  why: string
  log: PersonLog
}

/** What may cause a status. A return after a complaint leaves an opt-out from every other list. */
const causes: Record<string, (meaning: Meaning) => boolean> = {
  PENDING: ({ kind }) => kind === 'ask',
  CONFIRMED: ({ kind }) => kind === 'grant' || kind === 'link',
  UNSUBSCRIBED: (meaning) => meaning.kind === 'removal' || (meaning.kind === 'no' && meaning.reason !== 'BOUNCED'),
  COMPLAINED: (meaning) => meaning.kind === 'no' && meaning.reason === 'COMPLAINED',
  BOUNCED: (meaning) => meaning.kind === 'no' && meaning.reason === 'BOUNCED',
}

export function judgeStatuses(log: PersonLog): WrongStatus[] {
  const happened = log.requests.filter(mayHaveHappened)
  return log.statuses.flatMap((shown) => {
    const concerns = (meaning: Meaning) => isAbout(meaning, shown.list)
    const isCause = causes[shown.status] ?? (() => false)
    const isCaused = happened.some(({ means }) => means.some((one) => concerns(one) && isCause(one)))
    if (!isCaused) return [{ shown, why: 'nothing has caused it', log }]
    const consents = happened.filter((request) => hasConfirmed(request, shown))
    const last = consents.toSorted((one, other) => one.endedAt - other.endedAt).at(-1)
    if (shown.status === 'CONFIRMED' || !last) return []
    const isEnded = happened.some(
      (request) =>
        request !== last &&
        request.endedAt >= last.sentAt &&
        request.means.some((one) => /^(no|removal|move|merge|erasure)$/.test(one.kind) && concerns(one)),
    )
    return isEnded ? [] : [{ shown, why: 'nothing has ended the consent', log }]
  })
}

function isAbout(meaning: Meaning, list: string): boolean {
  if ('list' in meaning) return meaning.list === list
  return !('scope' in meaning) || meaning.scope === list || meaning.scope === all
}

/** Whether the response says that the address is confirmed on the list. A file may leave it as it is. */
function hasConfirmed(request: Request, { address, list }: ShownStatus): boolean {
  if (!isAnswered(request)) return false
  const isShown = (request.shows ?? []).some((one) => one.address === address && one.list === list)
  return isShown || request.means.some((one) => one.kind === 'link' && one.address === address && one.list === list)
}
