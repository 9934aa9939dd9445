/**
 * The addresses and external ids that opt out anywhere in the file of an import. The first pass stores them, in a dry
 * run too, and the second one confirms none of them. They are keyed hashes, and deleted when the import has ended.
 */
import { and, eq, inArray } from 'drizzle-orm'
import type { ContactKeys } from '../../contacts/identity/contact-keys.ts'
import { importSeen } from '../../db/schema/index.ts'
import type { ImportId } from '../../kernel/ids.ts'
import type { Ctx } from '../../request/context.ts'
import { hashEmail } from '../../consent/hash-email.ts'

export async function addOptOutKeys(ctx: Ctx, importId: ImportId, keys: readonly ContactKeys[]): Promise<void> {
  const hashes = [...new Set(keys.flatMap((one) => hashKeys(ctx, one)))]
  if (hashes.length === 0) return
  const { workspaceId } = ctx
  await ctx.db
    .insert(importSeen)
    .values(hashes.map((emailHash) => ({ workspaceId, importId, emailHash })))
    .onConflictDoNothing()
}

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
  const hashes = [...new Set(keys.flatMap((one) => hashKeys(ctx, one)))]
  if (hashes.length === 0) return () => false
  const rows = await ctx.db
    .select({ emailHash: importSeen.emailHash })
    .from(importSeen)
    .where(and(isOfImport(ctx, importId), inArray(importSeen.emailHash, hashes)))
  const found = new Set(rows.map(({ emailHash }) => emailHash))
  return (one) => hashKeys(ctx, one).some((hash) => found.has(hash))
}

function hashKeys(ctx: Ctx, { email, externalId }: ContactKeys): bigint[] {
  return [
    ...(email === undefined ? [] : [toBigint(hashEmail(ctx, email))]),
    // No address has a space, so the two kinds cannot be equal. External ids are compared byte for byte.
    ...(externalId ? [toBigint(hashEmail(ctx, `externalId ${Buffer.from(externalId).toString('hex')}`))] : []),
  ]
}

/** The first 64 of the 256 bits: the keys of one file do not collide by accident. */
const toBigint = (hash: string) => Buffer.from(hash, 'base64url').readBigInt64BE()
