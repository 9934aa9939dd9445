/** Writes suppressions. An address has one row. */
import { isDeepStrictEqual } from 'node:util'
import { and, eq, inArray, or, sql } from 'drizzle-orm'
import { jsonRows } from '../db/json-rows.ts'
import { contacts, type SuppressionReason, suppressions } from '../db/schema/index.ts'
import { namedStatement } from '../db/statements/named-statement.ts'
import { arrayOf, text } from '../db/statements/sql-types.ts'
import { type ContactId, newId } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import { lockAddresses } from './find-suppressions.ts'
import { hashEmail, hashEmails, hashEmailWithAllKeys } from './hash-email.ts'
import { addReason, isByPerson, statusByReason } from './suppression-reasons.ts'

/** All columns but those that the database derives. */
export type SuppressionRow = Omit<typeof suppressions.$inferSelect, 'reason' | 'source'>

export interface NewReasons {
  email: string
  reasons: readonly SuppressionReason[]
  /** The contact that has the address; null keeps the one that had it. */
  contactId: ContactId | null
  /** Null keeps the former note. */
  note?: string | null
}

export interface StoredSuppression {
  row: SuppressionRow
  /** UNCHANGED: all of it was known. */
  change: 'CREATED' | 'UPDATED' | 'UNCHANGED'
}

/**
 * Adds reasons to the suppressions of addresses, and returns these in the order of the input. Several inputs for one
 * address take effect in their order. The caller has locked the addresses.
 */
export async function addSuppressions(ctx: Ctx, added: readonly NewReasons[]): Promise<StoredSuppression[]> {
  const emails = added.map(({ email }) => email)
  const rows = await lockRows(ctx, emails)
  const changed = new Set<string>()
  const stored = added.map((input): StoredSuppression => {
    const hash = hashEmail(ctx, input.email)
    const former = rows.get(hash)
    const row = withReasons(former ?? newRow(ctx, hash), input)
    rows.set(hash, row)
    const change = former ? (isSame(former, row) ? 'UNCHANGED' : 'UPDATED') : 'CREATED'
    if (change !== 'UNCHANGED') changed.add(hash)
    return { row, change }
  })
  await saveRows(
    ctx,
    [...rows.values()].filter(({ emailHash }) => changed.has(emailHash)),
  )
  return stored
}

/**
 * Adds what stands against one address to another address of the same person: what the person said, and blocks. A
 * bounce concerns its address alone. The caller has locked the contact.
 */
export async function copySuppressions(
  ctx: Ctx,
  { from, to, contactId }: { from: string; to: string; contactId: ContactId },
): Promise<void> {
  const rows = await lockRows(ctx, [from])
  const row = rows.get(hashEmail(ctx, from))
  const reasons = (row?.reasons ?? []).filter((one) => isByPerson(one) || one.reason === 'MANUAL')
  if (row && reasons.length > 0) await addSuppressions(ctx, [{ email: to, reasons, contactId, note: row.note }])
}

/** Removes reasons from the suppression of an address. Returns the reasons that remain. */
export async function removeReasons(
  ctx: Ctx,
  email: string,
  isRemoved: (reason: SuppressionReason) => boolean,
): Promise<SuppressionReason[]> {
  const rows = await lockRows(ctx, [email])
  const row = rows.get(hashEmail(ctx, email))
  return row ? saveWithout(ctx, row, isRemoved) : []
}

/** Saves a locked suppression without some of its reasons, or deletes it without any. Returns those that remain. */
export async function saveWithout(
  ctx: Ctx,
  row: SuppressionRow,
  isRemoved: (reason: SuppressionReason) => boolean,
): Promise<SuppressionReason[]> {
  const reasons = row.reasons.filter((one) => !isRemoved(one))
  if (reasons[0]) await saveRows(ctx, [{ ...row, reasons, status: statusByReason[reasons[0].reason] }])
  else await deleteRows(ctx, [row.emailHash])
  return reasons
}

/**
 * Makes contacts those that have the addresses of suppressions. Returns the contacts whose address is suppressed. Locks
 * the addresses first, as everything that writes suppressions does: what it links would otherwise change meanwhile.
 */
export async function linkSuppressions(
  ctx: Ctx,
  contacts: readonly { id: ContactId; email: string }[],
): Promise<ContactId[]> {
  await lockAddresses(
    ctx,
    contacts.map(({ email }) => email),
    'shared',
  )
  if (contacts.length === 0 || !(await hasSuppressions(ctx))) return []
  const hashes = contacts.flatMap(({ id, email }) => hashEmailWithAllKeys(ctx, email).map((hash) => ({ id, hash })))
  const linked = await linkRows(ctx.db, {
    workspaceId: ctx.workspaceId,
    ids: hashes.map(({ id }) => id),
    hashes: hashes.map(({ hash }) => hash),
  })
  return linked.map(({ contactId }) => contactId)
}

const linkRows = namedStatement('link suppressions to contacts', {
  params: { workspaceId: suppressions.workspaceId, ids: arrayOf(contacts.id), hashes: arrayOf(text) },
  columns: { contactId: contacts.id },
  sql: ({ workspaceId, ids, hashes }) => sql`
    update suppressions s set contact_id = given.id
    from unnest(${ids}, ${hashes}) as given (id, hash)
    where s.workspace_id = ${workspaceId} and s.email_hash = given.hash
    returning given.id as contact_id`,
})

/** Most workspaces have none when they move in. Hashing was 7 % of the worker's time in an import (2026-11-26). */
async function hasSuppressions(ctx: Ctx): Promise<boolean> {
  const { workspaceId } = suppressions
  const rows = await ctx.db.select({ workspaceId }).from(suppressions).where(eq(workspaceId, ctx.workspaceId)).limit(1)
  return rows.length > 0
}

/** Removes the link to the contact that loses an address, and the note, which may be about the person. */
export async function forgetContact(ctx: Ctx, { id, email }: { id?: ContactId; email: string }): Promise<void> {
  const isLinked = id && eq(suppressions.contactId, id)
  await ctx.db
    .update(suppressions)
    .set({ contactId: null, note: null })
    .where(and(eq(suppressions.workspaceId, ctx.workspaceId), or(isAddress(ctx, [email]), isLinked)))
}

const isSame = (one: SuppressionRow, other: SuppressionRow) =>
  isDeepStrictEqual(one.reasons, other.reasons) && one.note === other.note && one.contactId === other.contactId

function newRow(ctx: Ctx, emailHash: string): SuppressionRow {
  const { workspaceId } = ctx
  const empty = { reasons: [], status: 'UNSUBSCRIBED', contactId: null, note: null } as const
  return { workspaceId, id: newId('sup'), emailHash, ...empty, reasons: [], createdAt: new Date() }
}

function withReasons(row: SuppressionRow, { reasons, contactId, note }: Omit<NewReasons, 'email'>): SuppressionRow {
  const all = reasons.reduce(addReason, row.reasons)
  const status = all[0] ? statusByReason[all[0].reason] : row.status
  return { ...row, reasons: all, status, contactId: contactId ?? row.contactId, note: note ?? row.note }
}

/**
 * Locks the suppressions of addresses and returns them by the current hash. A row that a former SECRET_KEY has hashed
 * joins the row of the current key.
 */
async function lockRows(ctx: Ctx, emails: readonly string[]): Promise<Map<string, SuppressionRow>> {
  const emailOf = hashEmails(ctx, emails)
  const found = await ctx.db
    .select()
    .from(suppressions)
    .where(isAddress(ctx, emails))
    .orderBy(suppressions.createdAt, suppressions.id)
    .for('update')
  const rows = new Map<string, SuppressionRow>()
  const formerHashes: string[] = []
  for (const { reason: _, source: __, ...stored } of found) {
    const emailHash = hashEmail(ctx, emailOf.get(stored.emailHash) ?? '')
    if (emailHash !== stored.emailHash) formerHashes.push(stored.emailHash)
    const row = { ...stored, emailHash }
    const older = rows.get(emailHash)
    rows.set(emailHash, older ? withReasons(older, row) : row)
  }
  if (formerHashes.length === 0) return rows
  const movedHashes = new Set(formerHashes.map((hash) => hashEmail(ctx, emailOf.get(hash) ?? '')))
  await deleteRows(ctx, [...formerHashes, ...movedHashes])
  await saveRows(
    ctx,
    [...rows.values()].filter(({ emailHash }) => movedHashes.has(emailHash)),
  )
  return rows
}

function isAddress(ctx: Ctx, emails: readonly string[]) {
  const hashes = [...hashEmails(ctx, emails).keys()]
  return and(eq(suppressions.workspaceId, ctx.workspaceId), sql`${suppressions.emailHash} = any(${sql.param(hashes)})`)
}

async function deleteRows(ctx: Ctx, emailHashes: readonly string[]): Promise<void> {
  await ctx.db
    .delete(suppressions)
    .where(and(eq(suppressions.workspaceId, ctx.workspaceId), inArray(suppressions.emailHash, [...emailHashes])))
}

async function saveRows(ctx: Ctx, saved: readonly SuppressionRow[]): Promise<void> {
  if (saved.length > 0) await upsertRows(ctx.db, { rows: jsonOfRows.stringify(saved) })
}

const jsonOfRows = jsonRows(suppressions)
const upsertRows = namedStatement('save suppressions', {
  params: { rows: text },
  columns: { emailHash: suppressions.emailHash },
  sql: ({ rows }) => sql`
    insert into suppressions (${jsonOfRows.names}) select ${jsonOfRows.names} from ${jsonOfRows.from(rows, 'p')}
    on conflict (workspace_id, email_hash) do update
    set contact_id = excluded.contact_id, reasons = excluded.reasons, status = excluded.status, note = excluded.note
    returning email_hash`,
})
