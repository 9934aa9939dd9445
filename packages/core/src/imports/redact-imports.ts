import { and, eq, gt, sql } from 'drizzle-orm'
import { imports } from '../db/schema/index.ts'
import {
  batchSizeFor,
  type ErasedPerson,
  isNamedIn,
  likePatterns,
  redactedText,
  type StepResult,
} from '../kernel/erased-person.ts'
import { idOf, uuidOf } from '../kernel/ids.ts'
import { byId } from '../request/by-id.ts'
import type { Ctx } from '../request/context.ts'

const batchSize = 500

/** Redacts the errors of the next imports that contain an address of the person. */
export async function redactImports(ctx: Ctx, person: ErasedPerson, after: string): Promise<StepResult> {
  const limit = batchSizeFor(person, batchSize)
  const isNext = after === '' ? undefined : gt(imports.id, idOf('imp', after))
  const passed = await ctx.db
    .select({ id: imports.id })
    .from(imports)
    .where(and(eq(imports.workspaceId, ctx.workspaceId), isNext))
    .orderBy(imports.id)
    .limit(limit)
  const last = passed.at(-1)
  if (!last) return {}
  const found = await ctx.db
    .select({ id: imports.id, errors: imports.errors })
    .from(imports)
    .where(
      and(
        eq(imports.workspaceId, ctx.workspaceId),
        isNext,
        sql`${imports.id} <= ${uuidOf(last.id)}::uuid`,
        sql`lower(${imports.errors}::text) like any(${sql.param(likePatterns(person))}::text[])`,
      ),
    )
    .for('update')
  for (const { id, errors } of found) {
    const redacted = errors.map((error) =>
      isNamedIn(person, error.message) ? { ...error, message: redactedText } : error,
    )
    await ctx.db
      .update(imports)
      .set({ errors: redacted })
      .where(byId(imports, ctx, id))
  }
  return { after: passed.length === limit ? uuidOf(last.id) : undefined }
}
