/**
 * The question that everything asks before it subscribes or mails an address: what stands against it? The answer
 * combines the suppressions of the workspace with the opt-outs of a list.
 */
import { and, eq, type SQL, sql, type SQLWrapper } from 'drizzle-orm'
import { optOuts, type SuppressionReason, suppressions } from '../db/schema/index.ts'
import { type ListId, uuidOf } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import { hashEmails } from './hash-email.ts'
import { addReason, createSuppressedError } from './suppression-reasons.ts'

interface Question {
  emails: readonly string[]
  /** With the opt-outs of this list. */
  listId?: ListId
}

/**
 * Returns the reasons by address, the strictest first, for each address that has any. In a transaction the answer holds
 * until the transaction ends: see `lockAddresses`.
 */
export async function findSuppressions(
  ctx: Ctx,
  { emails, listId }: Question,
): Promise<Map<string, SuppressionReason[]>> {
  if (emails.length === 0) return new Map()
  await lockAddresses(ctx, emails, 'shared')
  const emailOf = hashEmails(ctx, emails)
  const found = new Map<string, SuppressionReason[]>()
  for (const row of await selectReasons(ctx, [...emailOf.keys()], listId)) {
    const email = emailOf.get(row.emailHash) ?? ''
    found.set(email, row.reasons.reduce(addReason, found.get(email) ?? []))
  }
  return found
}

/** The same for one address: empty if nothing stands against it. */
export async function readSuppressions(
  ctx: Ctx,
  { email, listId }: { email: string; listId?: ListId },
): Promise<SuppressionReason[]> {
  const found = await findSuppressions(ctx, { emails: [email], ...(listId && { listId }) })
  return found.get(email) ?? []
}

/** Throws `opted_out` if anything stands against mails to an address that the person has not asked for. */
export async function requireNotSuppressed(ctx: Ctx, email: string): Promise<void> {
  const [strictest] = await readSuppressions(ctx, { email })
  if (strictest) throw createSuppressedError(strictest)
}

/**
 * The same for a statement that knows only contacts: whether no suppression is linked to the contact. One of an address
 * that became its own later is not linked, but refuses to subscribe it. The statuses of its subscriptions already follow;
 * campaigns ask again before they send.
 */
export function isNotSuppressed(contact: { workspaceId: SQLWrapper; id: SQLWrapper }): SQL {
  return sql`not exists (
    select from suppressions suppressed
    where suppressed.workspace_id = ${contact.workspaceId} and suppressed.contact_id = ${contact.id})`
}

async function selectReasons(ctx: Ctx, hashes: string[], listId: ListId | undefined) {
  const isAmong = (column: SQLWrapper) => sql`${column} = any(${sql.param(hashes)})`
  const { emailHash, reasons } = suppressions
  const ofWorkspace = ctx.db
    .select({ emailHash, reasons })
    .from(suppressions)
    .where(and(eq(suppressions.workspaceId, ctx.workspaceId), isAmong(emailHash)))
  if (!listId) return ofWorkspace
  const ofList = await ctx.db
    .select({ emailHash: optOuts.emailHash, status: optOuts.status, createdAt: optOuts.createdAt })
    .from(optOuts)
    .where(and(eq(optOuts.workspaceId, ctx.workspaceId), eq(optOuts.listId, listId), isAmong(optOuts.emailHash)))
  return [
    ...(await ofWorkspace),
    ...ofList.map((row) => ({ emailHash: row.emailHash, reasons: [reasonOfOptOut(row)] })),
  ]
}

function reasonOfOptOut(optOut: Pick<typeof optOuts.$inferSelect, 'status' | 'createdAt'>): SuppressionReason {
  const createdAt = optOut.createdAt.toISOString()
  if (optOut.status === 'COMPLAINED') return { reason: 'COMPLAINED', source: 'MAIL_EVENT', createdAt }
  return { reason: 'OPTED_OUT', source: 'LINK', createdAt }
}

/**
 * Locks addresses until the transaction ends: `shared` to subscribe them, `exclusive` to suppress them. Otherwise a
 * contact that another transaction is creating could be subscribed while its address is suppressed, because neither
 * transaction sees the row of the other one. All writers lock the contacts first. The addresses of a workspace share 64
 * locks, so that a chunk of an import needs few.
 */
export async function lockAddresses(ctx: Ctx, emails: readonly string[], mode: 'shared' | 'exclusive'): Promise<void> {
  if (emails.length === 0) return
  const lowerCase = emails.map((email) => email.toLowerCase())
  const numbers = sql`select hashtext(email) & 63 from unnest(${sql.param(lowerCase)}::text[]) as address (email)`
  await lockNumbers(ctx, numbers, mode)
}

async function lockNumbers(ctx: Ctx, numbers: SQL, mode: 'shared' | 'exclusive'): Promise<void> {
  const lock = sql.raw(mode === 'shared' ? 'pg_advisory_xact_lock_shared' : 'pg_advisory_xact_lock')
  await ctx.db.execute(sql`
    select ${lock}(key) from (
      select distinct hashtextextended(${`suppressions ${uuidOf(ctx.workspaceId)}`}, number) as key
      from (${numbers}) as addresses (number)
      order by key) as ordered`)
}
