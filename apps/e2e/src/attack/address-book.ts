/** Which address a contact had while a request was under way. */
import { isAnswered, type Meaning, mayHaveHappened, type PersonLog, type Request, type Whom } from './log.ts'

type Interval = Pick<Request, 'sentAt' | 'endedAt'>

export interface AddressBook {
  /** The addresses that a request is certainly about. */
  certain(whom: Whom, during: Interval): string[]
  /** The addresses that it may be about. */
  possible(whom: Whom, during: Interval): readonly string[]
}

export function createAddressBook({ addresses, requests }: PersonLog): AddressBook {
  const changes = requests.filter(
    (request) => mayHaveHappened(request) && request.means.some(({ kind }) => /^(move|merge|erasure)$/.test(kind)),
  )
  const isUnchanged = (during: Interval) =>
    !changes.some((change) => change !== during && change.sentAt < during.endedAt && change.endedAt >= during.sentAt)
  // What a request shows that overlaps with a change may be out of date.
  const shown = requests.filter(
    (request) => isAnswered(request) && isUnchanged(request) && request.means.some(({ kind }) => kind === 'contact'),
  )

  /** Undefined if it may have changed meanwhile, or the contact was erased. */
  function find(contactId: string, during: Interval): string | undefined {
    if (!isUnchanged(during)) return undefined
    return [...new Set([...shown, ...changes])]
      .filter(({ endedAt }) => endedAt < during.sentAt)
      .toSorted((one, other) => one.endedAt - other.endedAt)
      .flatMap(({ means }) => means)
      .reduce<Held>(change, { contactId }).address
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

interface Held {
  contactId: string
  address?: string
}

/** A merged contact is the one that it was merged into. */
function change(held: Held, meaning: Meaning): Held {
  if (!('contactId' in meaning) || meaning.contactId === undefined) return held
  const { contactId } = meaning
  if (meaning.kind === 'merge' && [contactId, meaning.duplicateId].includes(held.contactId))
    return { contactId, address: meaning.to }
  if (contactId !== held.contactId) return held
  if (meaning.kind === 'contact') return { contactId, address: meaning.address }
  if (meaning.kind === 'move') return { contactId, address: meaning.to }
  return meaning.kind === 'erasure' ? { contactId } : held
}
