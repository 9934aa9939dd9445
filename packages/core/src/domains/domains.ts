import { and, eq } from 'drizzle-orm'
import { audit } from '../audit/audit.ts'
import { onConstraint } from '../db/database-errors.ts'
import { type DomainKey, domains } from '../db/schema/index.ts'
import { AppError, conflict, notFound } from '../kernel/errors.ts'
import { type DomainId, newId } from '../kernel/ids.ts'
import { requireQuota } from '../quotas/require-quota.ts'
import { byId } from '../request/by-id.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { byCreation, type Page, readPage } from '../request/paging.ts'
import { isCreatedInRange } from '../request/time-range.ts'
import { createFollowingKey, createKeys, formerKeyDays, rotateKeys } from './domain-keys.ts'
import { type DomainRow, findCheck, isHostVerified, recordsOf, toDomain } from './domain-records.ts'
import type { Domain, DomainInput, DomainChange, DomainQuery } from './domains.schema.ts'
import { requireHostOf } from './hosts/host-name.ts'
import { releaseHosts, requireHost, useHost } from './hosts/take-host.ts'
import { timestampNow } from '../kernel/values/timestamps.ts'

/** Generates the keys of a new domain. Not within a transaction, because that takes long. */
export async function prepareDomain(ctx: Ctx, { name, host = null }: DomainInput): Promise<DomainRow> {
  // Keys are expensive: a request that is refused generates none.
  if (host !== null) requireHostOf(name, host, ctx.settings)
  await requireUnusedName(ctx, name)
  const id = newId('dom')
  await inTransaction(ctx, async (ctx) => {
    await requireDomainQuota(ctx)
    await requireHost(ctx, { id, host, status: 'PENDING' })
  })
  return {
    workspaceId: ctx.workspaceId,
    id,
    name,
    host,
    status: 'PENDING',
    keys: await createKeys(ctx, id),
    checks: [],
    checkedAt: null,
    createdAt: timestampNow(),
  }
}

/**
 * Stores a domain that was prepared. Throws `already_exists` if the workspace has the domain, and `quota_exceeded` if it
 * has the maximum number of domains. Another workspace with the same name makes no difference.
 */
export async function storeDomain(ctx: Ctx, domain: DomainRow): Promise<Domain> {
  const { id, name, host } = domain
  await inTransaction(ctx, async (ctx) => {
    await requireDomainQuota(ctx)
    await requireHost(ctx, domain)
    await ctx.db
      .insert(domains)
      .values(domain)
      .catch(onConstraint('domains_name_key', () => alreadyExists(name)))
    await audit(ctx, 'domain.created', { subjectId: id, name, ...(host !== null && { host }) })
  })
  return toDomain(domain, ctx.settings)
}

const requireDomainQuota = (ctx: Ctx) => requireQuota(ctx, 'domains', { count: () => countDomains(ctx) })

async function requireUnusedName(ctx: Ctx, name: string): Promise<void> {
  if (await findDomainByName(ctx, name)) throw alreadyExists(name)
}

const alreadyExists = (name: string) => conflict('already_exists', `Domain "${name}" already exists`)

export function countDomains(ctx: Ctx): Promise<number> {
  return ctx.db.$count(domains, eq(domains.workspaceId, ctx.workspaceId))
}

/** Finds the domain with a name, in lower case and ASCII. */
export async function findDomainByName(ctx: Ctx, name: string): Promise<DomainRow | undefined> {
  const [row] = await ctx.db
    .select()
    .from(domains)
    .where(and(eq(domains.workspaceId, ctx.workspaceId), eq(domains.name, name)))
  return row
}

export async function readDomain(ctx: Ctx, id: DomainId): Promise<Domain> {
  return toDomain(await readDomainRow(ctx, id), ctx.settings)
}

export async function readDomainRow(ctx: Ctx, id: DomainId): Promise<DomainRow> {
  const [row] = await ctx.db
    .select()
    .from(domains)
    .where(byId(domains, ctx, id))
  if (!row) throw notFound('Domain')
  return row
}

/** Locks a domain until the transaction ends. */
export async function lockDomain(ctx: Ctx, id: DomainId): Promise<DomainRow> {
  const [row] = await ctx.db
    .select()
    .from(domains)
    .where(byId(domains, ctx, id))
    .for('no key update')
  if (!row) throw notFound('Domain')
  return row
}

/** Lists a page of the workspace's domains. */
export async function listDomains(ctx: Ctx, query: DomainQuery): Promise<Page<Domain>> {
  const page = await readPage<DomainRow>(ctx, {
    name: 'domains',
    query,
    ...byCreation<DomainRow>(domains),
    read: ({ after, orderBy, limit }) =>
      ctx.db
        .select()
        .from(domains)
        .where(and(eq(domains.workspaceId, ctx.workspaceId), isCreatedInRange(domains, query), after))
        .orderBy(...orderBy)
        .limit(limit),
  })
  return { ...page, data: page.data.map((row) => toDomain(row, ctx.settings)) }
}

/**
 * Changes the host of a domain. The links that were mailed go on at the former one. Throws `validation_error` unless the
 * host is the domain or below it, and `already_exists` if another workspace has it.
 */
export function updateDomain(ctx: Ctx, id: DomainId, { host }: DomainChange): Promise<Domain> {
  return inTransaction(ctx, async (ctx) => {
    const current = await lockDomain(ctx, id)
    if (host === undefined || host === current.host) return toDomain(current, ctx.settings)
    if (host !== null) requireHostOf(current.name, host, ctx.settings)
    // The next check decides: that of a former host says nothing, and one of this host may be old.
    const row = { ...current, host, checks: current.checks.filter(({ name }) => name !== host) }
    await requireHost(ctx, row)
    await ctx.db
      .update(domains)
      .set({ host, checks: row.checks })
      .where(byId(domains, ctx, id))
    await useHost(ctx, row, isHostVerified(row, ctx.settings))
    await audit(ctx, 'domain.host_changed', { subjectId: id, name: row.name, host: host ?? '' })
    return toDomain(row, ctx.settings)
  })
}

/** Deletes a domain with its keys. Emails that were signed stay valid while the records are published. */
export function deleteDomain(ctx: Ctx, id: DomainId): Promise<void> {
  return inTransaction(ctx, async (ctx) => {
    const [deleted] = await ctx.db
      .delete(domains)
      .where(byId(domains, ctx, id))
      .returning({ name: domains.name })
    if (!deleted) throw notFound('Domain')
    await releaseHosts(ctx, id)
    await audit(ctx, 'domain.deleted', { subjectId: id, name: deleted.name })
  })
}

/** Generates the key that follows. Not within a transaction, because that takes long. */
export async function prepareRotation(ctx: Ctx, id: DomainId): Promise<DomainKey> {
  const { keys } = requireRotatable(ctx, await readDomainRow(ctx, id))
  return createFollowingKey(ctx, id, keys)
}

/**
 * Signs with the next key from now on; `following` was prepared. The record of the former key stays in use for seven days.
 * Throws `wrong_state` unless the last check found the record of the next key, and `quota_exceeded` within seven days of a
 * rotation.
 */
export function useNextKey(ctx: Ctx, id: DomainId, following: DomainKey): Promise<Domain> {
  return inTransaction(ctx, async (ctx) => {
    // A concurrent rotation makes it not rotatable: `following` follows the keys that the row has now.
    const current = requireRotatable(ctx, await lockDomain(ctx, id))
    const keys = rotateKeys(current.keys, following)
    await ctx.db
      .update(domains)
      .set({ keys })
      .where(byId(domains, ctx, id))
    await audit(ctx, 'domain.key_rotated', { subjectId: id, name: current.name, selector: keys.signing.selector })
    return toDomain({ ...current, keys }, ctx.settings)
  })
}

function requireRotatable({ settings }: Ctx, row: DomainRow): DomainRow {
  const waitMs = row.keys.former ? Date.parse(row.keys.former.until) - Date.now() : 0
  if (waitMs > 0)
    throw new AppError('quota_exceeded', `A key can be rotated once in ${formerKeyDays} days`, {
      retryAfterSeconds: Math.ceil(waitMs / 1_000),
    })
  const [, next] = recordsOf(row, settings)
  if (next && findCheck(row.checks, next)?.status !== 'VERIFIED')
    throw conflict('wrong_state', `The next key is not published yet: add the TXT record at ${next.name}, then verify`)
  return row
}
