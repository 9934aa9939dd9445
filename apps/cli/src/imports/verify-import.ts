/**
 * Compares the people of an export with the people here, by their addresses. `widened`: Rapport mails the address, the
 * other system does not. `lost`: the other system mails it, Rapport does not.
 */
import type { SourceName } from '@rapport/core/imports/columns/sources.ts'
import { type Contact, type Import, parseNdjson } from '@rapport/sdk'
import { type AddressTable, collectAddresses } from './address-table.ts'
import { formatCount } from '../terminal.ts'
import type { ExportFile } from './export-files.ts'
import { readSourceRows } from './source-rows.ts'
import type { Session } from './upload-file.ts'

export interface Difference {
  count: number
  /** The first hundred. */
  people: { email: string; reason: string }[]
}

export interface Verification {
  /** The number of different addresses in the source. */
  addresses: number
  widened: Difference
  lost: Difference
}

interface Compared {
  source: SourceName
  files: readonly ExportFile[]
  listId: string | undefined
  imports: readonly Import[]
}

const [isHere, isConfirmed, isRefused, isReported] = [1, 2, 4, 8]
const maxPeople = 100

export async function verifyImport(session: Session, compared: Compared): Promise<Verification> {
  const { refusedRows, table } = await readSource(session, compared)
  // An opt-out of a row that became no contact is kept as a hash: it is counted, but cannot be listed.
  const areAllRecorded = refusedRows.map((count, index) => {
    const { optedOut = 0, suppressed = 0 } = compared.imports[index] ?? {}
    return optedOut + suppressed >= count
  })
  const widened = createDifference()
  const lost = createDifference()
  for await (const { email, position } of readHere(session, compared, table)) {
    const word = table.wordOf(position)
    const isWidened = word !== 'mailable' && hasFact(table, position, isConfirmed)
    if (isWidened && addFact(table, position, isReported)) add(widened, email, `${word} there, confirmed here`)
  }
  for (const [index, file] of compared.files.entries()) {
    for await (const { email, line, word } of readSourceRows(compared.source, file)) {
      const position = email === undefined ? undefined : table.find(email)
      if (email !== undefined && position !== undefined) compare(email, { position, index })
      else if (word === 'mailable') add(lost, `${file.name}, line ${line}`, 'no email address')
    }
  }
  return { addresses: table.size, widened, lost }

  function compare(email: string, { position, index }: { position: number; index: number }): void {
    const has = (fact: number) => hasFact(table, position, fact)
    const isMissing = table.wordOf(position) === 'mailable' && !has(compared.listId ? isConfirmed : isHere)
    const isUnrecorded =
      table.wordOf(position) === 'refused' && !has(isRefused) && (has(isHere) || !areAllRecorded[index])
    if ((!isMissing && !isUnrecorded) || !addFact(table, position, isReported)) return
    if (isUnrecorded) add(widened, email, 'refused there, not recorded here')
    else add(lost, email, has(isRefused) ? 'refused here' : has(isHere) ? 'not confirmed here' : 'no contact here')
  }
}

async function readSource({ cli }: Session, { source, files }: Compared) {
  const collector = collectAddresses()
  const refusedRows: number[] = []
  let read = 0
  for (const file of files) {
    let refused = 0
    for await (const { email, word } of readSourceRows(source, file)) {
      cli.stopping.throwIfAborted()
      if (email !== undefined) collector.add(email, word)
      if (email !== undefined && word === 'refused') refused += 1
      if (++read % 1_000 === 0) cli.terminal.showProgress(`Comparing ${formatCount(read, 'row')} of the export`)
    }
    refusedRows.push(refused)
  }
  return { refusedRows, table: collector.complete() }
}

/** Records the facts about the contacts that the source has, and yields each of them, also more than once. */
async function* readHere(
  { api, cli }: Session,
  { listId: list }: Compared,
  table: AddressTable,
): AsyncGenerator<{ email: string; position: number }> {
  const isLeft = [{ not: { list, status: 'CONFIRMED' } }, { not: { list, status: 'PENDING' } }]
  const streams = [
    { filter: undefined, factsOf: (contact: Contact) => isHere | (refuses(contact) ? isRefused : 0) },
    ...(list === undefined
      ? []
      : [
          { filter: { list, status: 'CONFIRMED' }, factsOf: () => isConfirmed },
          { filter: { all: [{ list }, ...isLeft] }, factsOf: () => isRefused },
        ]),
  ]
  let read = 0
  for (const { filter, factsOf } of streams) {
    const query = { format: 'ndjson' as const, ...(filter && { filter: JSON.stringify(filter) }) }
    const file = await api.rapport.contacts.export(query, { signal: cli.stopping, timeoutMs: Infinity })
    for await (const contact of parseNdjson(file)) {
      const position = table.find(contact.email)
      if (position !== undefined) {
        addFact(table, position, factsOf(contact))
        yield { email: contact.email, position }
      }
      if (++read % 1_000 === 0) cli.terminal.showProgress(`Comparing ${formatCount(read, 'contact')}`)
    }
  }
}

const refuses = ({ emailSubscribedStatus }: Contact) =>
  ['UNSUBSCRIBED', 'BOUNCED', 'COMPLAINED'].includes(emailSubscribedStatus)

const createDifference = (): Difference => ({ count: 0, people: [] })

function add(to: Difference, email: string, reason: string): void {
  to.count += 1
  if (to.people.length < maxPeople) to.people.push({ email, reason })
}

const hasFact = ({ facts }: AddressTable, position: number, fact: number) => ((facts[position] ?? 0) & fact) !== 0

/** Returns whether it was not known before. */
function addFact({ facts }: AddressTable, position: number, fact: number): boolean {
  const before = facts[position] ?? 0
  facts[position] = before | fact
  return (before & fact) !== fact
}
