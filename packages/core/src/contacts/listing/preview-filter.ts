import { and, desc, eq, sql } from 'drizzle-orm'
import { contacts } from '../../db/schema/index.ts'
import type { Ctx } from '../../request/context.ts'
import { compileWithUnseen } from '../../segments/compile-unseen.ts'
import type { Filter } from '../../segments/filter.schema.ts'
import { withinFilterTime } from '../../segments/within-filter-time.ts'
import { contactColumns, toContact } from '../contact-record.ts'
import type { FilterPreview } from './contact-query.schema.ts'
import { countContacts } from './count-contacts.ts'

const sampleSize = 10

/** Counts the contacts that match a filter, exactly up to 10,000, and returns the newest of them. */
export function previewFilter(ctx: Ctx, filter: Filter): Promise<FilterPreview> {
  return withinFilterTime(ctx, async (ctx) => {
    const ofWorkspace = eq(contacts.workspaceId, ctx.workspaceId)
    const { matching, possible } = await compileWithUnseen(ctx, filter)
    const where = and(ofWorkspace, matching)
    const isUnseen = possible && and(ofWorkspace, possible, sql`(${matching}) is not true`)
    const { total, isEstimate } = await countContacts(ctx, where)
    const sample = await ctx.db
      .select(contactColumns)
      .from(contacts)
      .where(where)
      .orderBy(desc(contacts.createdAt), desc(contacts.id))
      .limit(sampleSize)
    const unseen = isUnseen ? (await countContacts(ctx, isUnseen)).total : 0
    return { count: total, isEstimate, sample: sample.map(toContact), unseen }
  })
}
