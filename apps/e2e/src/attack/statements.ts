/** What each request said: every "no" and every "yes" of an address and a list, as an interval. */
import type { AddressBook } from './address-book.ts'
import { all, isAnswered, type Meaning, type PersonLog, type Reason, type Request } from './log.ts'

export interface No {
  address: string
  list: string
  /** REMOVED: by the operator. GONE: without a consent, from the start or since the contact left the address. */
  reason: Reason | 'REMOVED' | 'GONE'
  source: string
  isOfAll: boolean
  sentAt: number
  /** Infinity if it may never have been recorded. */
  endedAt: number
  /** When it was first said, at the earliest: also of one that a change of address has copied. */
  saidAt: number
  isCopied: boolean
  request: Request | undefined
}

export interface Yes {
  address: string
  list: string
  sentAt: number
  endedAt: number
  withdraws(no: No): boolean
  /** Whether a contact came to the address without a consent. */
  isPresence?: boolean
}

export interface Statements {
  noes: No[]
  yeses: Yes[]
}

interface Context {
  log: PersonLog
  lists: readonly string[]
  book: AddressBook
}

type Of<Kind> = Extract<Meaning, { kind: Kind }>
type Readers = {
  [Kind in Meaning['kind']]: (meaning: Of<Kind>, request: Request, context: Context) => Partial<Statements>
}

const readers: Readers = {
  no(meaning, request, { log, lists, book }) {
    const { scope, reason, source } = meaning
    // Once a bounce is lifted, the same report again counts for nothing.
    if (source === 'MAIL_EVENT' && reason === 'BOUNCED' && isRepeatedBounce(log, request)) return {}
    const isOfAll = scope === all
    const covered = isOfAll ? lists : [scope]
    const create = (address: string) =>
      covered.map((list) => ({
        ...createGone(address, list, request.sentAt),
        ...intervalOf(request),
        reason,
        source,
        isOfAll,
        request,
      }))
    return { noes: book.certain(meaning, request).flatMap(create) }
  },
  removal: (meaning, request, { book }) => ({
    noes: book.certain(meaning, request).map((address) => ({
      ...createGone(address, meaning.list, request.sentAt),
      ...intervalOf(request),
      reason: 'REMOVED',
      request,
    })),
  }),
  erasure: (meaning, request, { lists, book }) => ({
    noes: book
      .certain(meaning, request)
      .flatMap((address) => lists.map((list) => createGoneBy(request, { address, list }))),
  }),
  grant: (meaning, request) => ({ yeses: [createYes(request, meaning, isWithoutWord)] }),
  link: (meaning, request) => ({
    yeses: [createYes(request, meaning, (no) => !/BOUNCED|MANUAL/.test(no.reason) && no.saidAt < meaning.mailedAt)],
  }),
  undo: (meaning, request) => ({ yeses: [createYes(request, meaning, (no) => isUndone(no, meaning.of))] }),
  operatorUndo(meaning, request, { lists, book }) {
    const isOfAll = meaning.scope === all
    const covered = isOfAll ? lists : [meaning.scope]
    const withdraws = (no: No) => isOfOperator(no) && no.isOfAll === isOfAll
    const create = (address: string) => covered.map((list) => createYes(request, { address, list }, withdraws))
    return { yeses: book.possible(meaning, request).flatMap(create) }
  },
  lift: ({ address }, request, { lists }) => ({
    yeses: lists.map((list) => createYes(request, { address, list }, ({ reason }) => /BOUNCED|MANUAL/.test(reason))),
  }),
  ask: () => ({}),
  contact: () => ({}),
  // They depend on what stood when they came: see `judge`.
  move: () => ({}),
  merge: () => ({}),
}

export const readStatement = (meaning: Meaning, request: Request, context: Context): Partial<Statements> =>
  (readers[meaning.kind] as (...given: [Meaning, Request, Context]) => Partial<Statements>)(meaning, request, context)

/** If no response came, a "no" may not stand, and a "yes" may come later. */
export const intervalOf = (request: Request) => ({
  sentAt: request.sentAt,
  endedAt: isAnswered(request) ? request.endedAt : Infinity,
})

interface Place {
  address: string
  list: string
}

export const createYes = (request: Request, { address, list }: Place, withdraws: Yes['withdraws']): Yes => ({
  address,
  list,
  ...intervalOf(request),
  withdraws,
})

export const createGone = (address: string, list: string, at: number): No => ({
  address,
  list,
  reason: 'GONE',
  source: '',
  isOfAll: false,
  sentAt: at,
  endedAt: at,
  saidAt: at,
  isCopied: false,
  request: undefined,
})

export const createGoneBy = (request: Request, { address, list }: Place): No => ({
  ...createGone(address, list, request.sentAt),
  ...intervalOf(request),
  request,
})

/** Whether no person said it, so that a caller may say otherwise. */
export const isWithoutWord = ({ reason }: No): boolean => reason === 'REMOVED' || reason === 'GONE'

const isOfOperator = ({ reason, source, isCopied }: No) => reason === 'OPTED_OUT' && source === 'API' && !isCopied

/** An undo takes back the row of its own word, unless the same was said again. */
const isUndone = ({ reason, source, isOfAll, isCopied, sentAt }: No, of: Request) =>
  reason === 'OPTED_OUT' && source === 'LINK' && !isOfAll && !isCopied && sentAt < of.endedAt

const isBounceReport = ({ means }: Request) =>
  means.some((one) => one.kind === 'no' && one.source === 'MAIL_EVENT' && one.reason === 'BOUNCED')

const isRepeatedBounce = ({ requests }: PersonLog, request: Request) =>
  requests.some((one) => one !== request && one.sentAt < request.endedAt && isBounceReport(one))
