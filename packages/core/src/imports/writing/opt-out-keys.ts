/**
 * The addresses and external ids that opt out anywhere in the file of an import. The first pass stores them, in a dry
 * run too, and the second one confirms none of them. They are keyed hashes, also with former keys: the SECRET_KEY may
 * change between the passes. They are deleted when the import has ended. So is what the first pass has said for contacts:
 * a person may return by a link before the second pass meets their row.
 */
import { and, eq, sql } from 'drizzle-orm'
import type { ContactKeys } from '../../contacts/identity/contact-keys.ts'
import { importSeen } from '../../db/schema/index.ts'
import type { ContactId, ImportId } from '../../kernel/ids.ts'
import type { Ctx } from '../../request/context.ts'
import { hashEmailWithAllKeys } from '../../consent/hash-email.ts'
import type { OptOutStatus } from '../words/statuses.ts'

export const addOptOutKeys = (ctx: Ctx, importId: ImportId, keys: readonly ContactKeys[]): Promise<void> =>
  addKeys(ctx, importId, keys.flatMap(textsOf))

const isOfImport = (ctx: Ctx, importId: ImportId) =>
  and(eq(importSeen.workspaceId, ctx.workspaceId), eq(importSeen.importId, importId))

/** Whether any row of the file opts out: then `findOptOutKeys` is worth its price. */
export async function hasOptOutKeys(ctx: Ctx, importId: ImportId): Promise<boolean> {
  const [row] = await ctx.db
    .select({ emailHash: importSeen.emailHash })
    .from(importSeen)
    .where(isOfImport(ctx, importId))
    .limit(1)
  return row !== undefined
}

export async function findOptOutKeys(
  ctx: Ctx,
  importId: ImportId,
  keys: readonly ContactKeys[],
): Promise<(keys: ContactKeys) => boolean> {
  const isKnown = await findKeys(ctx, importId, keys.flatMap(textsOf))
  return (one) => textsOf(one).some(isKnown)
}

/** What a row says of a contact that its external id has found. */
export interface SaidOfContact {
  contactId: ContactId
  status: OptOutStatus
}

export const addSaid = (ctx: Ctx, importId: ImportId, said: readonly SaidOfContact[]): Promise<void> =>
  addKeys(ctx, importId, said.map(textOfSaid))

/** Returns a check: whether the first pass has said it. */
export async function findSaid(
  ctx: Ctx,
  importId: ImportId,
  said: readonly SaidOfContact[],
): Promise<(said: SaidOfContact) => boolean> {
  const isKnown = await findKeys(ctx, importId, said.map(textOfSaid))
  return (one) => isKnown(textOfSaid(one))
}

/** No address has a space, so the kinds cannot be equal. External ids are compared byte for byte. */
const textsOf = ({ email, externalId }: ContactKeys): string[] => [
  ...(email === undefined ? [] : [email]),
  ...(externalId ? [`externalId ${Buffer.from(externalId).toString('hex')}`] : []),
]
const textOfSaid = ({ contactId, status }: SaidOfContact) => `${status} ${contactId}`

async function addKeys(ctx: Ctx, importId: ImportId, texts: readonly string[]): Promise<void> {
  const hashes = [...new Set(texts.flatMap((text) => hashKey(ctx, text)))]
  if (hashes.length === 0) return
  const { workspaceId } = ctx
  for (let start = 0; start < hashes.length; start += maxRows) {
    const part = hashes.slice(start, start + maxRows)
    await ctx.db
      .insert(importSeen)
      .values(part.map((emailHash) => ({ workspaceId, importId, emailHash })))
      .onConflictDoNothing()
  }
}

/** A statement has at most 65,535 parameters, and each former key adds a hash. */
const maxRows = 10_000

async function findKeys(ctx: Ctx, importId: ImportId, texts: readonly string[]): Promise<(text: string) => boolean> {
  const hashes = [...new Set(texts.flatMap((text) => hashKey(ctx, text)))]
  if (hashes.length === 0) return () => false
  const rows = await ctx.db
    .select({ emailHash: importSeen.emailHash })
    .from(importSeen)
    .where(
      and(isOfImport(ctx, importId), sql`${importSeen.emailHash} = any(${sql.param(hashes.map(String))}::bigint[])`),
    )
  const found = new Set(rows.map(({ emailHash }) => emailHash))
  return (text) => hashKey(ctx, text).some((hash) => found.has(hash))
}

/** The first 64 of the 256 bits: the keys of one file do not collide by accident. */
const hashKey = (ctx: Ctx, text: string): bigint[] =>
  hashEmailWithAllKeys(ctx, text).map((hash) => Buffer.from(hash, 'base64url').readBigInt64BE())
