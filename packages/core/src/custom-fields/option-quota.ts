import { eq, sql } from 'drizzle-orm'
import { customFields } from '../db/schema/index.ts'
import { requireQuota } from '../quotas/require-quota.ts'
import type { Ctx } from '../request/context.ts'

/** The bytes of the options of all fields. A field that is being removed still counts. */
export async function measureOptions(ctx: Ctx): Promise<number> {
  const [row] = await ctx.db
    .select({ bytes: sql<number>`coalesce(sum(octet_length(array_to_string(${customFields.options}, ''))), 0)::int` })
    .from(customFields)
    .where(eq(customFields.workspaceId, ctx.workspaceId))
  return row?.bytes ?? 0
}

/** Throws `quota_exceeded` if the options exceed the quota. `replaced`: the options of the field before the change. */
export async function requireOptionQuota(ctx: Ctx, options: readonly string[], replaced: readonly string[] = []) {
  const bytesOf = (texts: readonly string[]) => Buffer.byteLength(texts.join(''))
  const added = bytesOf(options) - bytesOf(replaced)
  if (added > 0) await requireQuota(ctx, 'customFieldBytes', { count: () => measureOptions(ctx), added })
}
