/**
 * Judges what was observed of one person: a model of consent that knows each "no" and "yes" only as an interval, from
 * the request to its response. It imports nothing of the code under attack.
 *
 * A "no" is certain once it was answered. It was withdrawn if any "yes" that may withdraw it could have come after it.
 * So concurrent requests are judged in favor of the installation, and everything that is reported is certain.
 */
import { createAddressBook } from './address-book.ts'
import { isAnswered, mayHaveHappened, type Observation, type PersonLog, type Request } from './log.ts'
import {
  createGone,
  createGoneBy,
  createYes,
  intervalOf,
  isWithoutWord,
  type No,
  readStatement,
  type Statements,
} from './statements.ts'

export interface Violation {
  observed: Observation
  /** What forbids it. */
  no: No
  /** The request whose response is wrong, if it is a response. */
  answered?: Request
  log: PersonLog
}

export function judge(log: PersonLog, lists: readonly string[]): Violation[] {
  const book = createAddressBook(log)
  const stated: Statements = {
    noes: log.addresses.flatMap((address) => lists.map((list) => createGone(address, list, 0))),
    yeses: [],
  }
  const happened = log.requests.filter(mayHaveHappened).toSorted((one, other) => one.sentAt - other.sentAt)
  for (const request of happened)
    for (const meaning of request.means) add(stated, readStatement(meaning, request, { log, lists, book }))
  // In order, as these depend on what stood when they came.
  const wrongResponses = happened.flatMap((request) => {
    for (const list of lists) moveStatements(stated, request, list)
    return isAnswered(request) ? judgeResponse(stated, request) : []
  })
  const wrong = log.observations.flatMap((observed) => {
    const { address, contactId, at } = observed
    const addresses = book.certain(address === '' ? { contactId } : { address }, { sentAt: at, endedAt: at })
    return addresses.flatMap((one) =>
      listStanding(stated, { ...observed, address: one }).map((no) => ({ observed, no })),
    )
  })
  return [...wrongResponses, ...wrong].map((violation) => ({ ...violation, log }))
}

function add(stated: Statements, { noes = [], yeses = [] }: Partial<Statements>): void {
  stated.noes.push(...noes)
  stated.yeses.push(...yeses)
}

/** Returns what certainly stood, and was certainly not withdrawn. */
function listStanding({ noes, yeses }: Statements, { address, list, at, notBefore }: Omit<Observation, 'what'>): No[] {
  const given = yeses.filter((yes) => yes.address === address && yes.list === list && yes.sentAt < at)
  return noes.filter(
    (no) =>
      no.address === address &&
      no.list === list &&
      no.endedAt < notBefore &&
      !given.some((yes) => yes.endedAt >= no.sentAt && yes.withdraws(no)),
  )
}

/**
 * What persons said, and blocks, hold for the next address too; a bounce stays with the former one. A consent moves, and
 * none is left behind. Of two contacts, one that the operator removed stays removed.
 */
function moveStatements(stated: Statements, request: Request, list: string): void {
  for (const meaning of request.means) {
    if (meaning.kind !== 'move' && meaning.kind !== 'merge') continue
    const { from: address, to } = meaning
    if (address === to) continue
    const interval = intervalOf(request)
    const standing = listStanding(stated, { address, list, at: interval.endedAt, notBefore: request.sentAt })
    const mayConsent = stated.yeses.some(
      (yes) => !yes.isPresence && yes.address === address && yes.list === list && yes.sentAt < interval.endedAt,
    )
    // The contact takes its lack of consent along, from when it was: a link from before may still confirm it.
    const isWithout = meaning.kind === 'move' && !mayConsent
    const withdraws = (no: No) =>
      meaning.kind === 'move' ? isWithoutWord(no) && !no.isCopied && no.request !== request : no.reason === 'GONE'
    add(stated, {
      noes: [
        ...standing
          .filter(({ reason }) => reason !== 'BOUNCED' && reason !== 'GONE')
          .map((no) => ({ ...no, address: to, ...interval, isCopied: true })),
        createGoneBy(request, { address, list }),
        ...(isWithout ? [{ ...createGone(to, list, 0), ...interval, request }] : []),
      ],
      yeses:
        mayConsent || isWithout
          ? [{ ...createYes(request, { address: to, list }, withdraws), isPresence: isWithout }]
          : [],
    })
  }
}

/** A link or an undo that does more than it may is reported once: what follows from it is not. */
function judgeResponse(stated: Statements, request: Request): Omit<Violation, 'log'>[] {
  const { what, sentAt: notBefore, endedAt: at } = request
  const accepted = request.means.flatMap((meaning) => {
    if (meaning.kind !== 'link' && meaning.kind !== 'undo') return []
    const { address, list } = meaning
    const observed = { what, address, list, at, notBefore }
    const wrong = listStanding(stated, observed).map((no) => ({ observed, no, answered: request }))
    if (wrong.length > 0) stated.yeses.push(createYes(request, meaning, (no) => no.sentAt < at))
    return wrong
  })
  const shown = (request.shows ?? []).flatMap((observed) =>
    listStanding(stated, observed).map((no) => ({ observed, no, answered: request })),
  )
  return [...accepted, ...shown]
}
