import { LRUCache } from 'lru-cache'
import { domains } from '../db/schema/index.ts'
import { emit } from '../events/emit.ts'
import { limitConcurrency, type RunLimited } from '../kernel/concurrency/limit-concurrency.ts'
import type { DomainId, WorkspaceId } from '../kernel/ids.ts'
import { byId } from '../request/by-id.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
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
