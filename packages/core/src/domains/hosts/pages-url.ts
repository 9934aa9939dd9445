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

const current = new LRUCache<WorkspaceId, { host: string | undefined }, Ctx>({
  max: 10_000,
  ttl: ttlMs,
  // A mail that waits for a lookup goes on with it, even if the host changes meanwhile.
  ignoreFetchAbort: true,
  fetchMethod: async (_workspaceId, _stale, { context }) => ({ host: await findHost(context) }),
})

/** Adds the base URL for the links of a mail: under the host of the workspace, or PUBLIC_URL. Cached for seconds. */
export async function withPagesUrl(ctx: Ctx): Promise<Ctx> {
  const { host } = (await current.fetch(ctx.workspaceId, { context: ctx })) ?? {}
  return host === undefined ? ctx : { ...ctx, pagesUrl: urlAtHost(ctx.settings, host) }
}

export function forgetPagesUrl({ db, workspaceId }: Ctx): void {
  afterCommit(db, `pages URL of ${workspaceId}`, () => void current.delete(workspaceId))
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
