import { and, eq, inArray, isNull } from 'drizzle-orm'
import { customFields } from '../db/schema/index.ts'
import type { Ctx } from '../request/context.ts'
import type { NamedFields } from './custom-fields.ts'

/** Locks the custom fields of an object with these keys against deletion until the transaction ends, and returns their keys. */
export async function lockLiveKeys(ctx: Ctx, { object, keys }: NamedFields): Promise<ReadonlySet<string>> {
  if (keys.length === 0) return new Set()
  const rows = await ctx.db
    .select({ key: customFields.key })
    .from(customFields)
    .where(
      and(
        eq(customFields.workspaceId, ctx.workspaceId),
        eq(customFields.object, object),
        inArray(customFields.key, [...keys]),
        isNull(customFields.removedAt),
      ),
    )
    .orderBy(customFields.id)
    .for('share')
  return new Set(rows.map(({ key }) => key))
}
