/** Deletes what imports leave behind: their files, the keys of their opt-outs, and at last their records. */
import { and, inArray, lt, or, type SQL, sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import { imports } from '../db/schema/index.ts'
import { purgeRows } from '../db/statements/purge-rows.ts'
import type { ImportId } from '../kernel/ids.ts'
import type { Retention } from '../kernel/retention.ts'
import { byId } from '../request/by-id.ts'
import type { Ctx } from '../request/context.ts'
import { endStatuses, isAbandoned } from './import-record.ts'

const hasEnded = inArray(imports.status, endStatuses)

/** Deletes the file of an ended import, and the keys of its opt-outs, in small batches. */
export async function purgeImport(ctx: Ctx, { id }: { id: ImportId }): Promise<void> {
  const isEnded = and(byId(imports, ctx, id), hasEnded)
  while ((await deleteParts(ctx, isEnded)) > 0);
  while ((await ctx.db.execute(deletionOfKeys(isEnded))).rowCount);
}

/** Deletes a batch of the file parts of an import that meets the condition. Returns their number. */
export async function deleteParts(ctx: Ctx, condition: SQL | undefined): Promise<number> {
  const { rowCount } = await ctx.db.execute(deletionOfParts(condition))
  return rowCount ?? 0
}

/**
 * The same for all workspaces, after a killed worker or an upload that stopped more than an hour ago. Deletes a batch.
 * Returns 0 when nothing is left.
 */
export async function purgeImports(db: Db): Promise<number> {
  const parts = await db.execute(deletionOfParts(or(hasEnded, isAbandoned())))
  if (parts.rowCount) return parts.rowCount
  const keys = await db.execute(deletionOfKeys(hasEnded))
  if (keys.rowCount) return keys.rowCount
  const records = await db.delete(imports).where(isAbandoned())
  return records.rowCount ?? 0
}

/** Deletes a batch of the records of imports that ended before their retention. Returns their number. */
export async function purgeFinishedImports(db: Db, { importsDays }: Retention): Promise<number> {
  if (importsDays === 0) return 0
  const isOld = lt(imports.completedAt, sql`now() - ${importsDays} * interval '1 day'`)
  return purgeRows(db, imports, and(hasEnded, isOld))
}

const deletionOf = (table: SQL, key: SQL, limit: number) => (condition: SQL | undefined) =>
  sql`
  delete from ${table} where (workspace_id, import_id, ${key}) in (
    select t.workspace_id, t.import_id, t.${key} from ${table} t
    join ${imports} on ${imports.workspaceId} = t.workspace_id and ${imports.id} = t.import_id
    where ${condition} limit ${sql.raw(String(limit))})`
const deletionOfParts = deletionOf(sql`import_parts`, sql`position`, 64)
const deletionOfKeys = deletionOf(sql`import_seen`, sql`email_hash`, 10_000)
