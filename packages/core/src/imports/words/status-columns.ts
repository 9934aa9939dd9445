/** The columns that say what a person wants, and how the values of each are read. */
import type { FileStatus } from '../../db/schema/imports.ts'
import { isZeroDate, parseMoment } from './file-moment.ts'
import { readStatusWord, saysSubscribed, unknownStatus } from './statuses.ts'
import { isHidden, isMissing, readYesNo } from './yes-no-words.ts'

interface Answers {
  yes: FileStatus
  no: FileStatus
  /** Of a value that is missing. */
  none: FileStatus
  /** False if a date may be that of an end. */
  hasDates?: boolean
}

/** What yes and no mean in a column, which its name decides. A column that opts out is silent about all others. */
const answers = {
  /** Without another name, yes means that the person is subscribed. */
  status: { yes: 'CONFIRMED', no: 'UNSUBSCRIBED', none: 'NONE', hasDates: false },
  'status.subscribed': { yes: 'CONFIRMED', no: 'UNSUBSCRIBED', none: 'NONE' },
  'status.optedIn': { yes: 'CONFIRMED', no: 'NONE', none: 'NONE' },
  /** Of a name that is not well known. */
  'status.consent': { yes: 'CONFIRMED', no: 'NONE', none: 'NONE', hasDates: false },
  'status.unsubscribed': { yes: 'UNSUBSCRIBED', no: 'CONFIRMED', none: 'CONFIRMED' },
  'status.optedOut': { yes: 'OPTED_OUT', no: 'CONFIRMED', none: 'CONFIRMED' },
  'status.bounced': { yes: 'BOUNCED', no: 'CONFIRMED', none: 'CONFIRMED' },
  'status.complained': { yes: 'COMPLAINED', no: 'CONFIRMED', none: 'CONFIRMED' },
} as const satisfies Record<string, Answers>
export type YesNoColumn = keyof typeof answers

/** Mautic reports: 1 unsubscribed, 2 bounced, 3 blocked by the operator. */
const optOutNumbers = new Map<string, FileStatus>([
  ['2', 'BOUNCED'],
  ['3', 'MANUAL'],
])

/** What mail servers say of an address that accepts no email. */
const refusal =
  /bounce|(?:^|[\s;#])5\.\d{1,3}\.\d{1,3}\b|(?:^|; *)5\d\d(?:[ -]|$)|(?:mailbox|user|account|address|recipient).*(?:unknown|not exist|not found)|unknown (?:user|recipient)|unbekannt|inconnu|desconocid|sconosciut|desconhecid/i
/** A text may be as long as its row; a report says it at its start. */
export const isRefusal = (text: string) => refusal.test(text.slice(0, 2_000))

/**
 * A column of answers can also have words for a status, or the moment since when the answer is yes. Of bounces and
 * complaints it has the report of a server, too. What could be an opt-out never reads as consent: a value that a program
 * could not show, the start of 1970, and in a column of opt-outs a word such as `active`, which may be of the opt-out.
 */
function readAnswer(column: YesNoColumn, text: string): FileStatus | undefined {
  const { yes, no, none, hasDates = true }: Answers = answers[column]
  const optsOut = yes !== 'CONFIRMED'
  if (optsOut && isHidden(text)) return undefined
  const trimmed = text.trim()
  if (isMissing(text) || isZeroDate(text)) return trimmed === '0' ? no : none
  const answer = readYesNo(text)
  if (answer !== undefined) return answer ? yes : no
  if (column === 'status.optedOut' && optOutNumbers.has(trimmed)) return optOutNumbers.get(trimmed)
  const word = readStatusWord(text)
  if (word !== undefined) return word === 'CONFIRMED' && optsOut && !saysSubscribed(text) ? undefined : word
  const moment = parseMoment(text)
  if (moment?.getTime() === 0 && !optsOut) return none
  if (moment) return hasDates ? yes : undefined
  return (yes === 'BOUNCED' || yes === 'COMPLAINED') && isRefusal(text) ? yes : undefined
}

/** Channels of Brevo, such as `[email_marketing|sms_marketing]`. */
const hasEmailChannel = (text: string) => text.includes('email_marketing')

type Reader = (text: string) => FileStatus | undefined
const readers = {
  /** Of an export of Rapport. `NONE` says nothing about a person. */
  emailSubscribedStatus: (text) => (text.trim().toUpperCase() === 'NONE' ? 'CONFIRMED' : readStatusWord(text)),
  'resend.unsubscribed': (text) => (text.trim() === '' ? 'NONE' : readAnswer('status.optedOut', text)),
  'brevo.subscribed': (text) => (hasEmailChannel(text) ? 'CONFIRMED' : 'NONE'),
  'brevo.blocklisted': (text) => (hasEmailChannel(text) ? 'OPTED_OUT' : 'CONFIRMED'),
  /** Systems leave it empty for people who were not asked in this way. */
  'source.optedIn': (text) => (isMissing(text) ? 'CONFIRMED' : readAnswer('status.optedIn', text)),
  /** Why the person left, in the words of the survey or of the system. */
  'mailchimp.reason': (text) => (/abuse|spam|complain/i.test(text) ? 'COMPLAINED' : 'CONFIRMED'),
} as const satisfies Record<string, Reader>
export type StatusColumn = keyof typeof readers | YesNoColumn

const isAnswer = (column: string): column is YesNoColumn => Object.hasOwn(answers, column)
export const isStatusColumn = (column: string | null): column is StatusColumn =>
  column !== null && (isAnswer(column) || Object.hasOwn(readers, column))

export const statusColumns = [...Object.keys(answers), ...Object.keys(readers)] as StatusColumn[]
/** Only headers map to these: they are no properties of a row of NDJSON. */
export const ofHeadersOnly: readonly string[] = statusColumns.filter((column) => column.includes('.'))

/** Whether the values of a column say whom the other system mails. The rest is only about some of the people. */
export const tellsSubscribers = (column: string | null) =>
  isStatusColumn(column) && column !== 'source.optedIn' && column !== 'mailchimp.reason'

/** Undefined for a value that the column cannot have: see `unknownValue`. An empty cell has a meaning too. */
export const readStatus = (column: StatusColumn, text: string): FileStatus | undefined =>
  isAnswer(column) ? readAnswer(column, text) : readers[column](text)

export const unknownValue = (column: StatusColumn) =>
  column.includes('.') ? 'must be yes or no, such as true or false' : unknownStatus
