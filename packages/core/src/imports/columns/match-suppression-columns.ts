/** Matches the columns of a file of addresses to suppress. One column of addresses needs no header. */
import { AppError } from '../../kernel/errors.ts'
import { isAddressCell, readAddresses } from '../words/keys.ts'
import { keysByWord, toLetters, toWords } from '../words/names.ts'
import { isStatusColumn } from '../words/status-columns.ts'
import { createNameMatcher, type GivenColumns } from './column-names.ts'
import { findConsentColumn, toStatusColumn } from './consent-columns.ts'
import type { ColumnMatcher } from './import-header.ts'

const properties = ['email', 'reason', 'saidAt', 'listId']
const known = `Known columns: ${properties.join(', ')}`
/** Columns by their names in the exports of SendGrid, Mailgun, Postmark, Brevo, Amazon SES, SparkPost, Mandrill … */
const columnsByName = keysByWord({
  email: 'email emailaddress mail address recipient recipientemail recipientaddress',
  status: 'reason status suppressionreason type reasoncode unsubreason bouncetype error',
  saidAt: `saidat createdat createdatutc created createdon date dateadded datecreated addedat blockedat cleantime bouncedat
    bouncedate suppressedat timestamp lastupdatetime eventtime eventdate`,
  listId: 'listid',
  origin: 'origin',
})

/** What an export has beside these, by the columns that show that it is this export. */
const exports = [
  { by: 'address createdat', leftOut: 'code tags tag messagehash count domain' }, // Mailgun
  { by: 'email created', leftOut: 'groupid groupname ip isglobal' }, // SendGrid: group unsubscribes, blocks
  { by: 'email blockedat', leftOut: 'senderemail message' }, // Brevo: blocked contacts
  {
    by: 'recipient nontransactional', // SparkPost, whose source says why
    leftOut: 'description updated transactional nontransactional',
    status: 'source',
  },
  { by: 'email reason detail', leftOut: 'detail lasteventat expiresat expired sender subaccount rejected' }, // Mandrill
  { by: 'optoutdate optouttype', leftOut: 'phone idlist optoutnl optouttype optoutsubtype' }, // MailUp
  { by: 'email data status', leftOut: 'firstname lastname data externalid' }, // Keila
  {
    by: 'subscribedtoemails labels', // Ghost
    leftOut: 'id name note complimentaryplan stripecustomerid deletedat labels tiers newsletters',
  },
  {
    by: 'recordid unsubscribedfromallemail', // HubSpot
    leftOut: 'recordid firstname lastname phonenumber contactowner leadstatus createdate company',
  },
  { by: 'subscribed usergroup', leftOut: 'id firstname lastname notes source usergroup userid mailinglists' }, // Loops
].map(({ by, leftOut, status = '' }) => ({ by: toWords(by), leftOut: toWords(leftOut), status }))

/**
 * Returns what finds the column of each of these names: null for one that their export has and that says nothing, undefined for
 * an unknown one.
 */
export function createSuppressionFinder(names: readonly string[]): (name: string) => string | null | undefined {
  const given = new Set(names.map(toLetters))
  const found = exports.filter(({ by }) => by.every((one) => given.has(one)))
  return (name) => {
    const own = toLetters(name)
    const column = columnsByName.get(own)
    if (column !== undefined) return column
    const consent = findConsentColumn(name)
    if (consent !== undefined) return consent === 'unsubscribedAt' ? 'saidAt' : consent
    if (found.some(({ status }) => status === own)) return 'status'
    return found.some(({ leftOut }) => leftOut.includes(own)) ? null : undefined
  }
}

export function createSuppressionColumnMatcher(options: GivenColumns): ColumnMatcher {
  const matcher = createNameMatcher({
    ...options,
    targets: { names: properties, message: `must be ${properties.join(', ')} or null` },
    toColumn: (target, name) =>
      target === 'reason' ? toStatusColumn(name) : properties.includes(target) ? target : undefined,
    createFinder: createSuppressionFinder,
    // Several columns can tell the reason, and the first moment that a row has counts.
    isRepeatable: (column) => column === 'saidAt' || isStatusColumn(column),
    listKnown: () => known,
  })
  const isData = (names: readonly string[]) => names.some(isAddressCell) && !names.some(matcher.isGiven)
  return {
    isKnown: (name) => matcher.isKnown(name) || hasAddress(name),
    isData,
    match(names) {
      if (isData(names)) return { columns: withoutHeader(names) }
      if (names.some((name) => hasAddress(name) && !matcher.isGiven(name)))
        throw new AppError(
          'validation_error',
          'The first line has an address among other words: put the address on a line of its own, or remove the line',
        )
      const { columns } = matcher.resolve(names)
      if (!columns.includes('email')) throw new AppError('validation_error', `The file has no column email. ${known}`)
      return { columns }
    },
  }
}

const hasAddress = (text: string) => readAddresses(text).emails.length > 0

function withoutHeader(cells: readonly string[]): string[] {
  if (cells.filter((cell) => cell.trim() !== '').length > 1)
    throw new AppError('validation_error', `The file has several columns but no header. ${known}`)
  return cells.map((cell) => (isAddressCell(cell) ? 'email' : ''))
}
