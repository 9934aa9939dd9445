import { and, eq, isNull, or, sql } from 'drizzle-orm'
import { LRUCache } from 'lru-cache'
import type { Db } from '../db/client.ts'
import { isDatabaseUnavailable } from '../db/database-errors.ts'
import { domains } from '../db/schema/index.ts'
import { emit } from '../events/emit.ts'
import { limitConcurrency, type RunLimited } from '../kernel/concurrency/limit-concurrency.ts'
import { AppError } from '../kernel/errors.ts'
import { type DomainId, uuidOf, type WorkspaceId } from '../kernel/ids.ts'
import { byId } from '../request/by-id.ts'
import { type BaseCtx, type Ctx, inTransaction } from '../request/context.ts'
import { checkRecords } from './check-records.ts'
import { createDnsReader, type DnsReader } from './dns.ts'
import { applyResults, type CheckResult, type DomainRow, recordsOf, toDomain } from './domain-records.ts'
import { lockDomain, readDomainRow } from './domains.ts'
import { type Domain, domainFailed, domainVerified } from './domains.schema.ts'

/** With an idempotency key, a check holds a database connection, and a slow name server may be the caller's own. */
const checksAtOnce = 4
const limits = new LRUCache<WorkspaceId, RunLimited>({ max: 1_000 })

function limitOf({ workspaceId }: Ctx): RunLimited {
  const message = 'Too many domains of the workspace are being checked; try again'
  const limit = limits.get(workspaceId) ?? limitConcurrency(checksAtOnce, { maxWaiting: 0, message })
  limits.set(workspaceId, limit)
  return limit
}

/** Checks the records of a domain in DNS now. Emits `domain.verified` or `domain.failed` if its status changes. */
export async function verifyDomain(ctx: Ctx, id: DomainId): Promise<Domain> {
  const row = await readDomainRow(ctx, id)
  const verified = await limitOf(ctx)(() => verifyRow(ctx, row, createDnsReader(ctx.settings.dnsServers)))
  return toDomain(verified.row, ctx.settings)
}

interface Verified {
  row: DomainRow
  isChanged: boolean
}

/** DNS is read outside of the transaction, which only records the results. */
async function verifyRow(ctx: Ctx, row: DomainRow, dns: DnsReader): Promise<Verified> {
  const results = await checkRecords(dns, row.name, recordsOf(row, ctx.settings))
  return inTransaction(ctx, (ctx) => recordResults(ctx, row.id, results))
}

/** Records the results of a check. Emits an event if the status of the domain changes. */
export async function recordResults(ctx: Ctx, id: DomainId, results: readonly CheckResult[]): Promise<Verified> {
  // The key may have been rotated since: results about other records are ignored.
  const current = await lockDomain(ctx, id)
  const change = { ...applyResults(current, results, ctx.settings), checkedAt: new Date() }
  await ctx.db
    .update(domains)
    .set(change)
    .where(byId(domains, ctx, id))
  const row = { ...current, ...change }
  const isChanged = row.status !== current.status
  if (isChanged) {
    const event = row.status === 'VERIFIED' ? domainVerified : domainFailed
    await emit(ctx, event, toDomain(row, ctx.settings))
  }
  return { row, isChanged }
}

/** More often while PENDING, in the first days: the user waits for the result. */
const isDue = or(
  isNull(domains.checkedAt),
  sql`${domains.checkedAt} < now() - interval '23 hours 30 minutes'`,
  and(
    eq(domains.status, 'PENDING'),
    sql`${domains.createdAt} > now() - interval '3 days'`,
    sql`${domains.checkedAt} < now() - interval '30 minutes'`,
  ),
)

const batchSize = 20

interface RecheckOptions {
  onFailure: (row: DomainRow, error: unknown) => void
  /** Ends the checks after those that have begun. */
  stopping: AbortSignal
}

/**
 * Checks the domains of all workspaces that were not checked for a day, or PENDING ones for an hour. For the hourly
 * maintenance. Yields each domain whose status changes, after the commit. The failure of one domain keeps no other one
 * from being checked.
 */
export async function* recheckDomains(
  base: BaseCtx,
  { onFailure, stopping }: RecheckOptions,
): AsyncGenerator<DomainRow> {
  const dns = createDnsReader(base.settings.dnsServers)
  for (let due = await findDue(base.db); due.length > 0; due = await findDue(base.db, due.at(-1))) {
    if (stopping.aborted) return
    const verified = await Promise.all(due.map((row) => recheck(base, row, { dns, onFailure })))
    yield* verified.flatMap((result) => (result?.isChanged ? [result.row] : []))
  }
}

/** In the order of the keys, so that each domain is checked once, whatever the clock of this process shows. */
function findDue(db: Db, after?: DomainRow): Promise<DomainRow[]> {
  const isAfter =
    after &&
    sql`(${domains.workspaceId}, ${domains.id}) > (${uuidOf(after.workspaceId)}::uuid, ${uuidOf(after.id)}::uuid)`
  return db.select().from(domains).where(and(isDue, isAfter)).orderBy(domains.workspaceId, domains.id).limit(batchSize)
}

/** Undefined if the domain has been deleted in the meantime, or if its check failed. */
async function recheck(
  base: BaseCtx,
  row: DomainRow,
  { dns, onFailure }: { dns: DnsReader } & Pick<RecheckOptions, 'onFailure'>,
): Promise<Verified | undefined> {
  const ctx: Ctx = { ...base, workspaceId: row.workspaceId, actor: { kind: 'system' } }
  try {
    return await verifyRow(ctx, row, dns)
  } catch (error) {
    if (isDatabaseUnavailable(error)) throw error
    if (!(error instanceof AppError && error.code === 'not_found')) onFailure(row, error)
    return undefined
  }
}
