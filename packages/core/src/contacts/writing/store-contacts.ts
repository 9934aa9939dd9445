/** The statements that write several contacts. The transaction has locked those that it updates. */
import { and, eq, inArray, sql } from 'drizzle-orm'
import { violatedConstraint } from '../../db/database-errors.ts'
import { severalRows } from '../../db/json-rows.ts'
import { contacts } from '../../db/schema/index.ts'
import { AppError, changedConcurrently } from '../../kernel/errors.ts'
import { emailKey } from '../../kernel/values/email-key.ts'
import { type Ctx, inTransaction } from '../../request/context.ts'
import { findExternalIdAliases } from '../identity/external-id-aliases.ts'
import { type Decision, dependsOnKeys, newExternalIds } from './decide-contacts.ts'

/**
 * Writes the contacts of decisions. Returns the decisions that are stored: of the others, a concurrent request has taken
 * a key, and they must be made again. Decisions that change keys are stored all, or none.
 */
export async function storeContacts(ctx: Ctx, decisions: readonly Decision[]): Promise<readonly Decision[]> {
  if (!decisions.some(dependsOnKeys)) return writeRows(ctx, decisions)
  const isStored = await inTransaction(ctx, (ctx) => writeAllRows(ctx, decisions)).catch(isKeyTaken)
  return isStored ? decisions : []
}

/** Resolves to true, or throws: then the savepoint is rolled back. */
async function writeAllRows(ctx: Ctx, decisions: readonly Decision[]): Promise<true> {
  await freeAddresses(ctx, decisions)
  const stored = await writeRows(ctx, decisions)
  const aliases = await findExternalIdAliases(ctx, decisions.flatMap(newExternalIds))
  if (stored.length < decisions.length || aliases.size > 0) throw changedConcurrently()
  return true
}

function isKeyTaken(error: unknown): false {
  const constraint = violatedConstraint(error) ?? ''
  if (['contacts_email_key', 'contacts_external_id_key'].includes(constraint)) return false
  if (error instanceof AppError && error.code === 'unavailable') return false
  throw error
}

async function writeRows(ctx: Ctx, decisions: readonly Decision[]): Promise<Decision[]> {
  // Before the inserts: a new contact may have an address that a known one had.
  const changed = decisions.flatMap(({ changed }) => changed.map(({ after }) => after))
  await severalContacts.update(ctx.db, ctx.workspaceId, changed)
  const created = decisions.flatMap(({ created }) => created)
  const inserted = await severalContacts.insert(ctx.db, created)
  return decisions.filter(({ created }) => created.every(({ id }) => inserted.has(id)))
}

/** Without this, a contact could not get the address of one that gets another in the same statement. */
async function freeAddresses(ctx: Ctx, decisions: readonly Decision[]): Promise<void> {
  const moved = decisions.flatMap(({ changed }) => changed).filter(({ before, after }) => before.email !== after.email)
  const taken = new Set(moved.map(({ before }) => emailKey(before.email)))
  if (!moved.some(({ after }) => taken.has(emailKey(after.email)))) return
  const ids = moved.map(({ after }) => after.id)
  await ctx.db
    .update(contacts)
    .set({ email: sql`${contacts.id}::text` })
    .where(and(eq(contacts.workspaceId, ctx.workspaceId), inArray(contacts.id, ids)))
}

const severalContacts = severalRows(contacts, { orderBy: sql`lower(email collate "C")` })
