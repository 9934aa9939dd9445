import { type SQL, sql } from 'drizzle-orm'
import { contacts, subscriptions } from '../db/schema/index.ts'
import type { SegmentId } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import type { CompiledFilter } from '../segments/compile-unseen.ts'
import { compileSegmentWithUnseen } from '../segments/segments.ts'

/** The tables of the subscriptions `s` of a list, and the conditions of a segment. Without one, contacts are not read. */
export async function narrowToSegment(
  ctx: Ctx,
  { segmentId }: { segmentId: SegmentId | null },
): Promise<CompiledFilter & { from: SQL }> {
  if (segmentId === null) return { from: sql`${subscriptions} s`, matching: sql`true`, possible: undefined }
  const from = sql`${subscriptions} s
    join ${contacts} on ${contacts}.workspace_id = s.workspace_id and ${contacts}.id = s.contact_id`
  return { from, ...(await compileSegmentWithUnseen(ctx, segmentId, { readsAll: true })) }
}
