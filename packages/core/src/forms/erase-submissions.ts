import { and, eq, gt, inArray, sql } from 'drizzle-orm'
import { formSubmissions } from '../db/schema/index.ts'
import { batchSizeFor, type ErasedPerson, isNamedIn, likePatterns, type StepResult } from '../kernel/erased-person.ts'
import { idOf, uuidOf } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'

const batchSize = 2_000

/**
 * Deletes the next submissions that belong to no contact and contain an address of the person: their form does not map
 * to contacts. The submissions of the contact were deleted with it.
 */
export async function eraseUnassignedSubmissions(ctx: Ctx, person: ErasedPerson, after: string): Promise<StepResult> {
  const limit = batchSizeFor(person, batchSize)
  const values = sql`(case when ${formSubmissions.contactId} is null
    and ${formSubmissions.createdAt} <= ${person.deletedAt.toISOString()}::timestamptz
    and lower(${formSubmissions.values}::text) like any(${sql.param(likePatterns(person))}::text[])
    then ${formSubmissions.values} end)`
  const rows = await ctx.db
    .select({ id: formSubmissions.id, values: sql<object | null>`${values}` })
    .from(formSubmissions)
    .where(
      and(
        eq(formSubmissions.workspaceId, ctx.workspaceId),
        after === '' ? undefined : gt(formSubmissions.id, idOf('sub', after)),
      ),
    )
    .orderBy(formSubmissions.id)
    .limit(limit)
  const ids = rows.filter((row) => isNamedIn(person, row.values)).map(({ id }) => id)
  if (ids.length > 0)
    await ctx.db
      .delete(formSubmissions)
      .where(and(eq(formSubmissions.workspaceId, ctx.workspaceId), inArray(formSubmissions.id, ids)))
  const last = rows.length === limit ? rows.at(-1) : undefined
  return { after: last && uuidOf(last.id) }
}
