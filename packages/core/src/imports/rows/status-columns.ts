/** The columns that say what a person wants, and how the values of each are read. */
import type { FileStatus } from '../../db/schema/imports.ts'
import { isZeroDate, parseMoment } from './file-moment.ts'
import { readStatusWord, saysSubscribed, unknownStatus } from './file-status.ts'
import { isRefusal } from './refusals.ts'
import { isHidden, isMissing, readYesNo } from './yes-no-words.ts'

interface Answers {
  yes: FileStatus
  no: FileStatus
  /** Of a value that is missing. */
  none: FileStatus
}

/** What yes and no mean in a column, which its name decides. A column that opts out is silent about all others. */
const answers = {
  'status.subscribed': { yes: 'CONFIRMED', no: 'UNSUBSCRIBED', none: 'NONE' },
  'status.optedIn': { yes: 'CONFIRMED', no: 'NONE', none: 'NONE' },
  'status.consent': { yes: 'CONFIRMED', no: 'NONE', none: 'NONE' },
  'status.unsubscribed': { yes: 'UNSUBSCRIBED', no: 'CONFIRMED', none: 'CONFIRMED' },
  'status.optedOut': { yes: 'OPTED_OUT', no: 'CONFIRMED', none: 'CONFIRMED' },
  'status.bounced': { yes: 'BOUNCED', no: 'CONFIRMED', none: 'CONFIRMED' },
  'status.complained': { yes: 'COMPLAINED', no: 'CONFIRMED', none: 'CONFIRMED' },
} as const satisfies Record<string, Answers>
export type YesNoColumn = keyof typeof answers

type Reader = (text: string) => FileStatus | undefined

/** Mautic reports: 1 unsubscribed, 2 bounced, 3 blocked by the operator. */
const optOutNumbers = new Map<string, FileStatus>([
  ['2', 'BOUNCED'],
  ['3', 'MANUAL'],
])

/**
 * A column of answers can also have words for a status, or the moment since when the answer is yes. Of bounces and
 * complaints it has the report of a server, too. What could be an opt-out never reads as consent: a value that a program
 * could not show, the start of 1970, and in a column of opt-outs a word such as `active`, which may be of the opt-out.
 */
const answerReader = (column: YesNoColumn, { hasDates = true } = {}): Reader => {
  const { yes, no, none } = answers[column]
  const optsOut = yes !== 'CONFIRMED'
  const hasReports = yes === 'BOUNCED' || yes === 'COMPLAINED'
  const readDate = (moment: Date): FileStatus | undefined => {
    if (!optsOut && moment.getTime() === 0) return none
    return hasDates ? yes : undefined
  }
  return (text) => {
    if (optsOut && isHidden(text)) return undefined
    if (isMissing(text) || isZeroDate(text)) return text.trim() === '0' ? no : none
    const answer = readYesNo(text)
    if (answer !== undefined) return answer ? yes : no
    if (column === 'status.optedOut' && optOutNumbers.has(text.trim())) return optOutNumbers.get(text.trim())
    const word = readStatusWord(text)
    if (word !== undefined) return word === 'CONFIRMED' && optsOut && !saysSubscribed(text) ? undefined : word
    const moment = parseMoment(text)
    if (moment) return readDate(moment)
    return hasReports && isRefusal(text) ? yes : undefined
  }
}

/** Channels of Brevo, such as `[email_marketing|sms_marketing]`. */
const hasEmailChannel = (text: string) => text.includes('email_marketing')

const readers = {
  /** Without another name, yes means that the person is subscribed. A date may be that of an end. */
  status: (text) => readStatusWord(text) ?? answerReader('status.subscribed', { hasDates: false })(text),
  /** Of an export of Rapport. `NONE` says nothing about a person. */
  emailSubscribedStatus: (text) => (text.trim().toUpperCase() === 'NONE' ? 'CONFIRMED' : readStatusWord(text)),
  'status.subscribed': answerReader('status.subscribed'),
  'status.optedIn': answerReader('status.optedIn'),
  /** Of a name that is not well known: a date may be that of an end. */
  'status.consent': answerReader('status.consent', { hasDates: false }),
  'status.unsubscribed': answerReader('status.unsubscribed'),
  'status.optedOut': answerReader('status.optedOut'),
  'status.bounced': answerReader('status.bounced'),
  'status.complained': answerReader('status.complained'),
  'resend.unsubscribed': (text) => (text.trim() === '' ? 'NONE' : answerReader('status.optedOut')(text)),
  'brevo.subscribed': (text) => (hasEmailChannel(text) ? 'CONFIRMED' : 'NONE'),
  'brevo.blocklisted': (text) => (hasEmailChannel(text) ? 'OPTED_OUT' : 'CONFIRMED'),
  /** Systems leave it empty for people who were not asked in this way. */
  'source.optedIn': (text) => (isMissing(text) ? 'CONFIRMED' : answerReader('status.optedIn')(text)),
  /** Why the person left, in the words of the survey or of the system. */
  'mailchimp.reason': (text) => (/abuse|spam|complain/i.test(text) ? 'COMPLAINED' : 'CONFIRMED'),
} as const satisfies Record<string, Reader>
export type StatusColumn = keyof typeof readers

export const statusColumns = Object.keys(readers) as StatusColumn[]
/** Only headers map to these: they are no properties of a row of NDJSON. */
export const ofHeadersOnly: readonly string[] = statusColumns.filter((column) => column.includes('.'))

/** Whether the values of a column say whom the other system mails. The rest is only about some of the people. */
export const tellsSubscribers = (column: string | null) =>
  isStatusColumn(column) && column !== 'source.optedIn' && column !== 'mailchimp.reason'

export const isStatusColumn = (column: string | null): column is StatusColumn =>
  column !== null && Object.hasOwn(readers, column)

/** Undefined for a value that the column cannot have: see `unknownValue`. An empty cell has a meaning too. */
export const readStatus = (column: StatusColumn, text: string): FileStatus | undefined => readers[column](text)

export const unknownValue = (column: StatusColumn) =>
  column.includes('.') ? 'must be yes or no, such as true or false' : unknownStatus
