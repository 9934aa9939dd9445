import { and, eq, type SQL, sql } from 'drizzle-orm'
import type { AnyPgColumn } from 'drizzle-orm/pg-core'
import { type CustomFieldObject, customFields } from '../db/schema/index.ts'
import type { Ctx } from '../request/context.ts'

/**
 * Returns an expression for the custom values in a column without those of type TEXT, which may name a person. A field
 * that is being removed still has values.
 */
export async function withoutTexts(ctx: Ctx, object: CustomFieldObject, column: AnyPgColumn): Promise<SQL> {
  const rows = await ctx.db
    .select({ key: customFields.key })
    .from(customFields)
    .where(
      and(
        eq(customFields.workspaceId, ctx.workspaceId),
        eq(customFields.object, object),
        eq(customFields.type, 'TEXT'),
      ),
    )
  return sql`${column} - ${sql.param(rows.map(({ key }) => key))}::text[]`
}
