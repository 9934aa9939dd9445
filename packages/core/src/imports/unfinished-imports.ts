import { and, eq, inArray, not, type SQL, sql } from 'drizzle-orm'
import { imports } from '../db/schema/index.ts'
import type { Ctx } from '../request/context.ts'

/** The upload stopped without notice, for example because the API process was killed. */
export const isAbandoned = (): SQL | undefined =>
  and(eq(imports.status, 'RECEIVING'), sql`${imports.receivedAt} < now() - interval '1 hour'`)

/** Counts the imports of the workspace that are received, queued or running. */
export function countUnfinishedImports(ctx: Ctx): Promise<number> {
  const isUnfinished = inArray(imports.status, ['RECEIVING', 'QUEUED', 'RUNNING'])
  return ctx.db.$count(
    imports,
    and(eq(imports.workspaceId, ctx.workspaceId), isUnfinished, not(sql`coalesce(${isAbandoned()}, false)`)),
  )
}
