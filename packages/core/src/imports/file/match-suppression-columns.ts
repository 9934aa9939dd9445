/** Matches the columns of a file of addresses to suppress. One column of addresses needs no header. */
import { AppError, invalidField } from '../../kernel/errors.ts'
import { trimInvisible } from '../../kernel/values/text.ts'
import { readAddresses } from '../rows/row-address.ts'
import { isStatusColumn } from '../rows/status-columns.ts'
import { keysByWord, normalizeName, requireHeaders, resolveColumns, toWords } from './column-names.ts'
import { findConsentColumn, toStatusColumn } from './consent-columns.ts'
import type { ColumnMatcher } from './import-header.ts'

const properties = ['email', 'reason', 'saidAt', 'listId']
/** Columns by their names in the exports of SendGrid, Mailgun, Postmark, Brevo, Amazon SES, SparkPost, Mandrill … */
const columnsByName = keysByWord({
  email: toWords('email emailaddress mail address recipient recipientemail recipientaddress'),
  status: toWords('reason status suppressionreason type reasoncode unsubreason bouncetype error source'),
  saidAt: toWords(`
      saidat createdat createdatutc created createdon date dateadded datecreated addedat blockedat cleantime bouncedat
      bouncedate suppressedat timestamp lastupdatetime eventtime eventdate`),
  listId: ['listid'],
  origin: ['origin'],
})
/** Without spaces and punctuation, such as `createdatutc` for `Created At (UTC)`. */
const toName = (text: string) => normalizeName(trimInvisible(text)).replaceAll(/[^\p{L}\p{N}]/gu, '')

/** What an export has beside these, by the columns that show that it is this export. */
const leftOut = [
  ['address createdat', 'code tags tag messagehash count domain'], // Mailgun
  ['email created', 'groupid groupname ip isglobal'], // SendGrid: group unsubscribes, blocks
  ['email blockedat', 'senderemail message'], // Brevo: blocked contacts
  ['recipient nontransactional', 'description updated transactional nontransactional'], // SparkPost
  ['email reason detail', 'detail lasteventat expiresat expired sender subaccount rejected'], // Mandrill: denylist
  ['optoutdate optouttype', 'phone idlist optoutnl optouttype optoutsubtype'], // MailUp: unsubscribed recipients
  ['email data status', 'firstname lastname data externalid'], // Keila
  ['subscribedtoemails labels', 'id name note complimentaryplan stripecustomerid deletedat labels tiers newsletters'], // Ghost
  [
    'recordid unsubscribedfromallemail',
    'recordid firstname lastname phonenumber contactowner leadstatus createdate company',
  ], // HubSpot
  ['subscribed usergroup', 'id firstname lastname notes source usergroup userid mailinglists'], // Loops
].map(([by = '', names = '']) => ({ by: toWords(by), names: toWords(names) }))

/** How a value with this name is read; undefined for an unknown name. */
export function matchSuppressionColumn(name: string): string | undefined {
  const consent = findConsentColumn(name)
  return columnsByName.get(toName(name)) ?? (consent === 'unsubscribedAt' ? 'saidAt' : consent)
}

/** Several columns can tell the reason, and the first moment that a row has counts. */
const repeatable = (column: string) => column === 'saidAt' || isStatusColumn(column)

const known = `Known columns: ${properties.join(', ')}`

interface Options {
  columns?: Readonly<Record<string, string | null>> | undefined
  unknownColumns?: 'error' | 'ignore' | undefined
}

export function createSuppressionColumnMatcher({ columns = {}, unknownColumns = 'error' }: Options): ColumnMatcher {
  const given = new Map(
    Object.entries(columns).map(([name, target]) => [
      normalizeName(trimInvisible(name)),
      target === 'reason' ? toStatusColumn(name) : target,
    ]),
  )
  for (const target of Object.values(columns))
    if (target !== null && !properties.includes(target))
      throw invalidField('columns', `must map headers to ${properties.join(', ')} or null`)
  const matchName = (text: string): string | null | undefined => {
    const name = normalizeName(trimInvisible(text))
    const byCaller = given.get(name)
    return byCaller === undefined ? (name === '' ? '' : matchSuppressionColumn(text)) : byCaller
  }
  return {
    isKnown: (name) => Boolean(matchName(name)) || isAddress(name),
    isData: hasAddress,
    match(names) {
      if (hasAddress(names)) return { columns: withoutHeader(names) }
      requireHeaders(given, names)
      const ofExport = findLeftOut(names)
      const matched = resolveColumns(names, {
        matchName: (name) => (matchName(name) === undefined && ofExport(name) ? null : matchName(name)),
        repeatable,
        ignoresUnknown: unknownColumns === 'ignore',
        listKnown: () => known,
      })
      if (!matched.includes('email')) throw new AppError('validation_error', `The file has no column email. ${known}`)
      return { columns: matched }
    },
  }
}

function findLeftOut(names: readonly string[]): (name: string) => boolean {
  const toName = (name: string) => normalizeName(trimInvisible(name))
  const given = new Set(names.map(toName))
  const found = leftOut.filter(({ by }) => by.every((name) => given.has(name))).flatMap((one) => one.names)
  return (name) => found.includes(toName(name))
}

const isAddress = (text: string) => readAddresses(text).emails.length > 0
const hasAddress = (names: readonly string[]) => names.some(isAddress)

function withoutHeader(cells: readonly string[]): string[] {
  if (cells.filter((cell) => cell.trim() !== '').length > 1)
    throw new AppError('validation_error', `The file has several columns but no header. ${known}`)
  return cells.map((cell) => (isAddress(cell) ? 'email' : ''))
}
