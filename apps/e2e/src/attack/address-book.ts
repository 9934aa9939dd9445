/** Which address a contact had while a request was under way. */
import { isAnswered, mayHaveHappened, type PersonLog, type Request, type Whom } from './log.ts'

type Interval = Pick<Request, 'sentAt' | 'endedAt'>

export interface AddressBook {
  /** The addresses that a request is certainly about. */
  certain(whom: Whom, during: Interval): string[]
  /** The addresses that it may be about. */
  possible(whom: Whom, during: Interval): readonly string[]
}

export function createAddressBook({ addresses, requests }: PersonLog): AddressBook {
  const changes = requests.filter(
    (request) => mayHaveHappened(request) && request.means.some(({ kind }) => kind === 'move' || kind === 'merge'),
  )
  const isUnchanged = ({ sentAt, endedAt }: Interval) =>
    !changes.some((change) => change.sentAt < endedAt && change.endedAt >= sentAt)
  // What a request shows that overlaps with a change may be out of date.
  const shown = requests.filter(
    (request) => isAnswered(request) && isUnchanged(request) && request.means.some(({ kind }) => kind === 'contact'),
  )

  /** Undefined if it may have changed meanwhile. */
  function find(contactId: string, during: Interval): string | undefined {
    if (!isUnchanged(during)) return undefined
    return [...shown, ...changes]
      .filter(({ endedAt }) => endedAt < during.sentAt)
      .toSorted((one, other) => one.endedAt - other.endedAt)
      .reduce<string | undefined>((address, request) => readAddress(request, contactId) ?? address, undefined)
  }

  function certain({ address, contactId }: Whom, during: Interval): string[] {
    const found = contactId === undefined ? undefined : find(contactId, during)
    return [...new Set([address, found].filter((one) => one !== undefined))]
  }

  return {
    certain,
    possible: (whom, during) => (whom.contactId === undefined ? certain(whom, during) : addresses),
  }
}

function readAddress({ means }: Request, contactId: string): string | undefined {
  for (const meaning of means) {
    if (meaning.kind === 'contact' && meaning.contactId === contactId) return meaning.address
    if (meaning.kind === 'move' && meaning.contactId === contactId) return meaning.to
    if (meaning.kind === 'merge' && [meaning.contactId, meaning.duplicateId].includes(contactId)) return meaning.to
  }
  return undefined
}
