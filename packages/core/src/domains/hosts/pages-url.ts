/** The one place that decides under which URL the public pages of a workspace are linked. */
import { and, eq } from 'drizzle-orm'
import { LRUCache } from 'lru-cache'
import { hosts } from '../../db/schema/index.ts'
import { afterCommit } from '../../db/transaction.ts'
import type { WorkspaceId } from '../../kernel/ids.ts'
import type { Ctx } from '../../request/context.ts'
import { urlAtHost } from './host-name.ts'

/** Another process changes the host of a workspace: links are under the former one for this time, and go on there. */
const ttlMs = 5_000

const current = new LRUCache<WorkspaceId, { host: string | undefined }>({ max: 10_000, ttl: ttlMs })

/** Adds the base URL for the links of a mail: under the host of the workspace, or PUBLIC_URL. Cached for seconds. */
export async function withPagesUrl(ctx: Ctx): Promise<Ctx> {
  const { host } = current.get(ctx.workspaceId) ?? (await readHost(ctx))
  return host === undefined ? ctx : { ...ctx, pagesUrl: urlAtHost(ctx.settings, host) }
}

export function forgetPagesUrl({ db, workspaceId }: Ctx): void {
  afterCommit(db, `pages URL of ${workspaceId}`, () => void current.delete(workspaceId))
}

async function readHost(ctx: Ctx): Promise<{ host: string | undefined }> {
  const read = { host: await findHost(ctx) }
  current.set(ctx.workspaceId, read)
  return read
}

/** Of several domains with a host, the host that was taken first. */
async function findHost(ctx: Ctx): Promise<string | undefined> {
  const [row] = await ctx.db
    .select({ host: hosts.host })
    .from(hosts)
    .where(and(eq(hosts.workspaceId, ctx.workspaceId), hosts.isCurrent))
    .orderBy(hosts.createdAt, hosts.host)
    .limit(1)
  return row?.host
}
