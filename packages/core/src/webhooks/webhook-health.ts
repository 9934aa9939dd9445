import { sql } from 'drizzle-orm'
import type { Ctx } from '../request/context.ts'
import { uuidOf, type WebhookId } from '../kernel/ids.ts'

export async function resetPause(ctx: Ctx, id: WebhookId): Promise<void> {
  await ctx.db.execute(sql`
    update webhook_drains set paused_until = null, unreachable_count = 0
    where workspace_id = ${uuidOf(ctx.workspaceId)} and webhook_id = ${uuidOf(id)}`)
}
