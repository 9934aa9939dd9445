/** Who has a host. Two workspaces may name the same one: the first whose own domain is VERIFIED has it. */
import { and, eq, inArray, isNull, ne, sql } from 'drizzle-orm'
import { domains, hosts, workspaces } from '../../db/schema/index.ts'
import type { DomainId, WorkspaceId } from '../../kernel/ids.ts'
import { AppError } from '../../kernel/errors.ts'
import { timestampNow } from '../../kernel/values/timestamps.ts'
import type { Ctx } from '../../request/context.ts'
import type { DomainRow } from '../domain-records.ts'
import { hostInUse } from './host-name.ts'
import { forgetPagesUrl } from './pages-url.ts'

type HostRow = typeof hosts.$inferSelect
type Claim = Pick<DomainRow, 'id' | 'host' | 'status'>

/**
 * Takes the host that a domain names, if the domain is VERIFIED. Returns whether the domain may have it: false if
 * another one has. Within the transaction that changes the domain.
 */
export async function takeHost(ctx: Ctx, { id, host, status }: Claim): Promise<boolean> {
  if (host === null) return true
  const { workspaceId } = ctx
  const own = { workspaceId, domainId: id, isCurrent: false }
  if (status === 'VERIFIED') {
    const row: HostRow = { host, ...own, verifiedAt: null, formerWorkspaceIds: [], createdAt: timestampNow() }
    const inserted = await ctx.db.insert(hosts).values(row).onConflictDoNothing().returning({ host: hosts.host })
    if (inserted.length > 0) return true
  }
  const holder = await lockHost(ctx, host)
  if (!holder || (holder.workspaceId === workspaceId && holder.domainId === id)) return true
  if (await isUsed(ctx, holder)) return false
  // The HOST record was found, or was not: it is the same for every workspace.
  const formerWorkspaceIds = listHolders(holder).filter((one) => one !== workspaceId)
  if (status === 'VERIFIED')
    await ctx.db
      .update(hosts)
      .set({ ...own, formerWorkspaceIds })
      .where(eq(hosts.host, host))
  return true
}

/** The workspaces that may have mailed links under the host. */
const listHolders = ({ workspaceId, verifiedAt, formerWorkspaceIds }: HostRow): WorkspaceId[] =>
  verifiedAt === null ? formerWorkspaceIds : [...new Set([...formerWorkspaceIds, workspaceId])]

/** Former hosts are kept for the links that were mailed, and every process has all hosts in its memory. */
const maxHosts = 20

/** Throws `already_exists` if another domain has the host, and `quota_exceeded` if the workspace has the maximum. */
export async function requireHost(ctx: Ctx, claim: Claim): Promise<void> {
  if (claim.host !== null) {
    const others = and(eq(hosts.workspaceId, ctx.workspaceId), ne(hosts.host, claim.host))
    if ((await ctx.db.$count(hosts, others)) >= maxHosts)
      throw new AppError('quota_exceeded', `A workspace has at most ${maxHosts} hosts, with those of former links`)
  }
  if (!(await takeHost(ctx, claim))) throw hostInUse(claim.host ?? '')
}

async function lockHost(ctx: Ctx, host: string): Promise<HostRow | undefined> {
  const [row] = await ctx.db.select().from(hosts).where(eq(hosts.host, host)).for('update')
  return row
}

/**
 * Whether the domain of a host names it, and is VERIFIED. Otherwise the host serves the links that were mailed, and the next
 * VERIFIED domain that names it takes it.
 */
async function isUsed({ db }: Ctx, { workspaceId, domainId, host }: HostRow): Promise<boolean> {
  const [user] = await db
    .select({ id: domains.id })
    .from(domains)
    .innerJoin(workspaces, eq(workspaces.id, domains.workspaceId))
    .where(
      and(
        eq(domains.workspaceId, workspaceId),
        eq(domains.id, domainId),
        eq(domains.host, host),
        eq(domains.status, 'VERIFIED'),
        isNull(workspaces.deletedAt),
      ),
    )
  return user !== undefined
}

/** Puts new links under the host of a domain while `isCurrent`. Former hosts of the domain go on with former links. */
export async function useHost(
  ctx: Ctx,
  { id, host }: Pick<DomainRow, 'id' | 'host'>,
  isCurrent: boolean,
): Promise<void> {
  const ofDomain = and(eq(hosts.workspaceId, ctx.workspaceId), eq(hosts.domainId, id))
  const others = host === null ? ofDomain : and(ofDomain, ne(hosts.host, host))
  await ctx.db.delete(hosts).where(and(others, isNull(hosts.verifiedAt)))
  await ctx.db.update(hosts).set({ isCurrent: false }).where(and(others, hosts.isCurrent))
  if (host !== null) {
    const now = sql.param(timestampNow(), hosts.verifiedAt)
    await ctx.db
      .update(hosts)
      .set({ isCurrent, ...(isCurrent && { verifiedAt: sql`coalesce(${hosts.verifiedAt}, ${now})` }) })
      .where(and(ofDomain, eq(hosts.host, host)))
  }
  forgetPagesUrl(ctx)
}

/** Gives up the hosts of a domain that is deleted. */
export const releaseHosts = (ctx: Ctx, id: DomainId): Promise<void> => useHost(ctx, { id, host: null }, false)

/** Passes the hosts of a workspace that is deleted to the last former owner of each, for the links that it mailed. */
export async function passOnHosts({ db, workspaceId }: Ctx): Promise<void> {
  for (const { host, formerWorkspaceIds } of await db.select().from(hosts).where(eq(hosts.workspaceId, workspaceId))) {
    const isFormer = and(inArray(workspaces.id, formerWorkspaceIds), isNull(workspaces.deletedAt))
    // Until the end, so that it is not deleted at the same time.
    const living = await db.select({ id: workspaces.id }).from(workspaces).where(isFormer).for('share')
    const next = formerWorkspaceIds.findLast((former) => living.some(({ id }) => id === former))
    if (next)
      await db
        .update(hosts)
        .set({
          workspaceId: next,
          isCurrent: false,
          formerWorkspaceIds: formerWorkspaceIds.filter((id) => id !== next),
        })
        .where(and(eq(hosts.host, host), eq(hosts.workspaceId, workspaceId)))
  }
}
