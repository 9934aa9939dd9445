import { and, eq, or, sql } from 'drizzle-orm'
import { givenIds } from '../db/given-ids.ts'
import { contacts } from '../db/schema/index.ts'
import { namedStatement } from '../db/statements/named-statement.ts'
import { arrayOf, text } from '../db/statements/sql-types.ts'
import { AppError, changedConcurrently } from '../kernel/errors.ts'
import type { ContactId } from '../kernel/ids.ts'
import { emailKey } from '../kernel/values/email-key.ts'
import type { Ctx } from '../request/context.ts'
import { contactColumns, type ContactRow } from './contact-record.ts'
import type { KnownContacts } from './identity/contact-index.ts'
import { type ContactKeys, externalIdsOf, type MatchedBy } from './identity/contact-keys.ts'
import { findExternalIdAliases, hasExternalId } from './identity/external-id-aliases.ts'

/** Finds a contact by email, ignoring case. */
export async function findContactByEmail(ctx: Ctx, email: string): Promise<ContactRow | undefined> {
  const [row] = await selectByKeys(ctx, [{ email }])
  return row
}

/** Finds the contacts that have one of the keys, also the contacts into which those were merged. */
export async function findContactsByKeys(ctx: Ctx, keys: readonly ContactKeys[]): Promise<ContactRow[]> {
  return selectByKeys(ctx, keys)
}

/** Like `findContactsByKeys`, and locks them until the transaction ends, in the lock order of all writers. */
export async function lockContactsByKeys(ctx: Ctx, keys: readonly ContactKeys[]): Promise<ContactRow[]> {
  const { workspaceId } = ctx
  if (externalIdsOf(keys).length === 0) return await lockByEmail(ctx.db, { workspaceId, emails: emailKeysOf(keys) })
  return await selectByKeys(ctx, keys).orderBy(contacts.id).for('no key update', { of: contacts })
}

const lockByEmail = namedStatement('lock contacts by email', {
  isPrepared: true,
  params: { workspaceId: contacts.workspaceId, emails: arrayOf(text) },
  columns: contactColumns,
  sql: ({ workspaceId, emails }) => sql`
    select ${sql.join(Object.values(contactColumns), sql`, `)}
    from ${givenIds(emails)} join contacts on lower(contacts.email collate "C") = given.id
    where contacts.workspace_id = ${workspaceId}
    order by contacts.id for no key update of contacts`,
})

/**
 * Locks the contacts that an input with one of these keys can be about, and finds the aliases among the keys. Repeats if
 * a merge has just added an alias, so that its contact is locked too.
 */
export async function lockKnownContacts(ctx: Ctx, keys: readonly ContactKeys[]): Promise<KnownContacts> {
  for (let round = 1; round <= maxRounds; round++) {
    const contacts = await lockContactsByKeys(ctx, keys)
    const aliases = await findExternalIdAliases(ctx, externalIdsOf(keys))
    const ids = new Set(contacts.map(({ id }) => id))
    if ([...aliases.values()].every((id) => ids.has(id))) return { contacts, aliases }
  }
  throw changedConcurrently()
}

const maxRounds = 3

/**
 * The error for keys that were found taken. If no contact has one of them anymore, it was deleted in the meantime.
 */
export async function alreadyExists(ctx: Ctx, { email, externalId }: ContactKeys): Promise<AppError> {
  const [owner] = externalId ? await selectByKeys(ctx, [{ externalId }]) : []
  if (owner) return keyTaken('externalId', owner.id)
  const ownerOfEmail = email === undefined ? undefined : await findContactByEmail(ctx, email)
  return ownerOfEmail ? keyTaken('email', ownerOfEmail.id) : changedConcurrently()
}

/** Throws `already_exists` if the external id that the transaction has just set is an alias. */
export async function requireNoAlias(ctx: Ctx, externalId: string): Promise<void> {
  const aliases = await findExternalIdAliases(ctx, [externalId])
  for (const contactId of aliases.values()) throw keyTaken('externalId', contactId)
}

export function keyTaken(key: MatchedBy, contactId: ContactId): AppError {
  const issue = { path: 'externalId', message: 'is taken by another contact, or by one that was merged into it' }
  return new AppError('already_exists', 'Contact already exists', {
    details: { contactId },
    ...(key === 'externalId' && { issues: [issue] }),
  })
}

const emailKeysOf = (keys: readonly ContactKeys[]) => [
  ...new Set(keys.flatMap(({ email }) => (email === undefined ? [] : emailKey(email)))),
]

function selectByKeys(ctx: Ctx, keys: readonly ContactKeys[]) {
  const emails = emailKeysOf(keys)
  const externalIds = externalIdsOf(keys)
  const hasEmail = sql`lower(${contacts.email} collate "C") = any(${sql.param(emails)}::text[])`
  return ctx.db
    .select(contactColumns)
    .from(contacts)
    .where(
      and(
        eq(contacts.workspaceId, ctx.workspaceId),
        externalIds.length === 0 ? hasEmail : or(hasEmail, hasExternalId(ctx, externalIds)),
      ),
    )
}
