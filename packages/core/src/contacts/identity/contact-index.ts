/**
 * Which contact an input is about. The rules of identity are here once:
 *
 * | `externalId` is that of | `email` is that of                | the input is about             |
 * | ----------------------- | --------------------------------- | ------------------------------ |
 * | a contact, or its alias | the same contact, none, or absent | this contact                   |
 * | a contact, or its alias | another contact                   | none: `identity_conflict`      |
 * | absent                  | a contact                         | this contact                   |
 * | none                    | a contact without an external id  | this contact                   |
 * | none                    | a contact with an external id     | none: `identity_conflict`      |
 * | none, or absent         | none, or absent                   | a new contact                  |
 */
import { AppError } from '../../kernel/errors.ts'
import type { ContactId } from '../../kernel/ids.ts'
import type { ContactRow } from '../contact-record.ts'
import { type ContactKeys, emailKey, type MatchedBy } from './contact-keys.ts'

type Match = { contact: ContactRow; matchedBy: Exclude<MatchedBy, 'none'> } | { contact: undefined; matchedBy: 'none' }

/** The contacts that have one of the keys of some inputs, and the aliases among these keys. */
export interface KnownContacts {
  contacts: readonly ContactRow[]
  aliases: ReadonlyMap<string, ContactId>
}

/** Known contacts by their keys, as they are after the inputs that were applied so far. */
export interface ContactIndex {
  get: (id: ContactId) => ContactRow | undefined
  /** Adds a contact, or replaces its former version. */
  put: (contact: ContactRow) => void
  /** Finds the contact that an input is about. Throws `identity_conflict`. */
  match: (keys: ContactKeys) => Match
}

export function createContactIndex({ contacts, aliases }: KnownContacts): ContactIndex {
  const byId = new Map<ContactId, ContactRow>()
  const byEmail = new Map<string, ContactId>()
  const byExternalId = new Map<string, ContactId>()
  const get = (id: ContactId | undefined) => (id === undefined ? undefined : byId.get(id))
  const put = (contact: ContactRow) => {
    const former = byId.get(contact.id)
    if (former) byEmail.delete(emailKey(former.email))
    if (former?.externalId) byExternalId.delete(former.externalId)
    byId.set(contact.id, contact)
    byEmail.set(emailKey(contact.email), contact.id)
    if (contact.externalId !== null) byExternalId.set(contact.externalId, contact.id)
  }
  for (const contact of contacts) put(contact)
  return {
    get,
    put,
    match({ email, externalId }) {
      const named = externalId ? get(byExternalId.get(externalId) ?? aliases.get(externalId)) : undefined
      const addressed = email === undefined ? undefined : get(byEmail.get(emailKey(email)))
      if (named && addressed && named !== addressed) throw identityConflict([named, addressed])
      if (named) return { contact: named, matchedBy: 'externalId' }
      if (!addressed) return { contact: undefined, matchedBy: 'none' }
      if (externalId && addressed.externalId !== null) throw identityConflict([addressed])
      return { contact: addressed, matchedBy: 'email' }
    },
  }
}

function identityConflict(contacts: readonly ContactRow[]): AppError {
  const message =
    contacts.length > 1
      ? 'externalId and email belong to different contacts'
      : 'email belongs to a contact with another externalId'
  return new AppError('identity_conflict', message, { details: { contactIds: contacts.map(({ id }) => id) } })
}

/**
 * Groups inputs that may concern the same contact: those that share a key, directly or through a known contact. The
 * inputs of a group take effect in their order, and groups do not affect each other.
 */
export function groupByContact<Entry extends { input: ContactKeys }>(
  entries: readonly Entry[],
  { contacts, aliases }: KnownContacts,
): Entry[][] {
  const parents = new Map<string, string>()
  const rootOf = (key: string): string => {
    const parent = parents.get(key) ?? key
    if (parent === key) return key
    const root = rootOf(parent)
    parents.set(key, root)
    return root
  }
  const unite = ([first, ...others]: readonly string[]) => {
    for (const other of others) if (first !== undefined) parents.set(rootOf(other), rootOf(first))
  }
  for (const contact of contacts) unite([contact.id, ...keysOf(contact)])
  for (const [externalId, id] of aliases) unite([id, ...keysOf({ externalId })])
  for (const { input } of entries) unite(keysOf(input))
  return [...Map.groupBy(entries, ({ input }) => rootOf(keysOf(input)[0] ?? '')).values()]
}

/** The keys as texts that cannot be equal by accident. */
const keysOf = ({ email, externalId }: ContactKeys): string[] => [
  ...(email === undefined ? [] : [`email ${emailKey(email)}`]),
  ...(externalId ? [`externalId ${externalId}`] : []),
]
