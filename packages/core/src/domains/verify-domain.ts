import { and, eq, isNotNull, isNull, or, sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import { isDatabaseUnavailable } from '../db/database-errors.ts'
import { domains } from '../db/schema/index.ts'
import { emit } from '../events/emit.ts'
import { limitInTurns } from '../kernel/concurrency/limit-in-turns.ts'
import { AppError } from '../kernel/errors.ts'
import { type DomainId, uuidOf } from '../kernel/ids.ts'
import { byId } from '../request/by-id.ts'
import { type BaseCtx, type Ctx, inTransaction } from '../request/context.ts'
import { checkRecords } from './check-records.ts'
import { createDnsReader } from './dns.ts'
import {
  applyResults,
  type CheckResult,
  type DomainRow,
  isHostVerified,
  recordsOf,
  toDomain,
} from './domain-records.ts'
import { lockDomain, readDomainRow } from './domains.ts'
import { type Domain, domainFailed, domainVerified } from './domains.schema.ts'
import { takeHost, useHost } from './hosts/take-host.ts'
import { timestampNow } from '../kernel/values/timestamps.ts'

/** A name server that answers late must not prolong a check with each alias. */
const checkDeadlineMs = 8_000

/** What DNS says about the records of a domain. */
export interface DomainCheck {
  id: DomainId
  results: CheckResult[]
}

/** Checks the records of a domain in DNS now. Emits `domain.verified` or `domain.failed` if its status changes. */
export async function verifyDomain(ctx: Ctx, id: DomainId): Promise<Domain> {
  return recordCheck(ctx, await checkDomain(ctx, id))
}

/** Reads the records of a domain from DNS. Not within a transaction. */
export async function checkDomain(ctx: Ctx, id: DomainId): Promise<DomainCheck> {
  return checkInTurn(ctx, await readDomainRow(ctx, id))
}

/** A slow name server may be the caller's own: others wait for longer than the checks that it prolongs take. */
export function limitChecks(deadlineMs: number) {
  const inTurn = limitInTurns(16, {
    maxPerWorkspace: 4,
    maxWaitMs: deadlineMs + 2_000,
    message: 'Too many domains are being checked; try again',
  })
  return (ctx: Ctx, row: DomainRow) => inTurn(ctx.workspaceId, () => readRecords(ctx, row, deadlineMs))
}
const checkInTurn = limitChecks(checkDeadlineMs)

/** Records a check, and returns the domain. */
export async function recordCheck(ctx: Ctx, { id, results }: DomainCheck): Promise<Domain> {
  const { row } = await inTransaction(ctx, (ctx) => recordResults(ctx, id, results))
  return toDomain(row, ctx.settings)
}

async function readRecords({ settings }: BaseCtx, row: DomainRow, deadlineMs = checkDeadlineMs): Promise<DomainCheck> {
  const dns = createDnsReader(settings.dnsServers, { deadlineMs })
  return { id: row.id, results: await checkRecords(dns, row.name, recordsOf(row, settings)) }
}

interface Verified {
  row: DomainRow
  isChanged: boolean
}

/** Records the results of a check. Emits an event if the status of the domain changes. */
export async function recordResults(ctx: Ctx, id: DomainId, results: readonly CheckResult[]): Promise<Verified> {
  // The key may have been rotated since: results about other records are ignored.
  const current = await lockDomain(ctx, id)
  const applied = applyResults(current, results, ctx.settings)
  const checks = await checkHolder(ctx, { ...current, ...applied })
  const change = { status: applied.status, checks, checkedAt: timestampNow() }
  await ctx.db
    .update(domains)
    .set(change)
    .where(byId(domains, ctx, id))
  const row = { ...current, ...change }
  if (row.host !== null) await useHost(ctx, row, isHostVerified(row, ctx.settings))
  const isChanged = row.status !== current.status
  if (isChanged) {
    const event = row.status === 'VERIFIED' ? domainVerified : domainFailed
    await emit(ctx, event, toDomain(row, ctx.settings))
  }
  return { row, isChanged }
}

/** Takes the host of a domain. Returns its checks: that of the host has FAILED if another domain has the host. */
async function checkHolder(ctx: Ctx, row: DomainRow): Promise<DomainRow['checks']> {
  if (await takeHost(ctx, row)) return row.checks
  const problem = `${row.host} is in use by another domain of this installation`
  return row.checks.map((check) => (check.name === row.host ? { ...check, status: 'FAILED', problem } : check))
}

/** More often with a host, to which links lead, and while PENDING, in the first days: the user waits for the result. */
const isDue = or(
  isNull(domains.checkedAt),
  sql`${domains.checkedAt} < now() - interval '23 hours 30 minutes'`,
  and(isNotNull(domains.host), sql`${domains.checkedAt} < now() - interval '30 minutes'`),
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
 * Checks the domains of all workspaces that were not checked for a day, or with a host or PENDING for an hour. For the hourly
 * maintenance. Yields each domain whose status changes, after the commit. The failure of one domain keeps no other one
 * from being checked.
 */
export async function* recheckDomains(
  base: BaseCtx,
  { onFailure, stopping }: RecheckOptions,
): AsyncGenerator<DomainRow> {
  for (let due = await findDue(base.db); due.length > 0; due = await findDue(base.db, due.at(-1))) {
    if (stopping.aborted) return
    const verified = await Promise.all(due.map((row) => recheck(base, row, onFailure)))
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
  onFailure: RecheckOptions['onFailure'],
): Promise<Verified | undefined> {
  const ctx: Ctx = { ...base, workspaceId: row.workspaceId, actor: { kind: 'system' } }
  try {
    const { results } = await readRecords(ctx, row)
    return await inTransaction(ctx, (ctx) => recordResults(ctx, row.id, results))
  } catch (error) {
    if (isDatabaseUnavailable(error)) throw error
    if (!(error instanceof AppError && error.code === 'not_found')) onFailure(row, error)
    return undefined
  }
}
