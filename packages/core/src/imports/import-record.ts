/** The record of an import: how the API and its event show it, and when it has ended, is unfinished or abandoned. */
import { and, eq, inArray, not, type SQL, sql } from 'drizzle-orm'
import { imports } from '../db/schema/index.ts'
import { defineEvent } from '../events/event-definition.ts'
import { notFound } from '../kernel/errors.ts'
import type { ImportId } from '../kernel/ids.ts'
import { byId } from '../request/by-id.ts'
import type { Ctx } from '../request/context.ts'
import { Import } from './imports.schema.ts'

export type ImportRecord = typeof imports.$inferSelect

export const importCompleted = defineEvent('import.completed', Import)

export const toImport = ({ status, ...row }: ImportRecord): Import =>
  Import.parse({ ...row, status: status === 'RECEIVING' ? 'QUEUED' : status })

/** Locks an import until the transaction ends. */
export async function lockImport(ctx: Ctx, id: ImportId): Promise<Pick<ImportRecord, 'status'>> {
  const [row] = await ctx.db
    .select({ status: imports.status })
    .from(imports)
    .where(byId(imports, ctx, id))
    .for('update')
  if (!row) throw notFound('Import')
  return row
}

export const endStatuses: ImportRecord['status'][] = ['COMPLETED', 'FAILED', 'CANCELED']

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
