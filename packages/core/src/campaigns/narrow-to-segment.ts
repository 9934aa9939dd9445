import { type SQL, sql } from 'drizzle-orm'
import { contacts, subscriptions } from '../db/schema/index.ts'
import type { SegmentId } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import { compileSegmentWithUnseen } from '../segments/segments.ts'

/**
 * The tables and the condition that narrow the subscriptions `s` of a list to a segment. Without a segment, contacts
 * are not read. `unseen`: see `compileUnseen`.
 */
export async function narrowToSegment(
  ctx: Ctx,
  { segmentId }: { segmentId: SegmentId | null },
): Promise<{ from: SQL; where: SQL; unseen?: SQL | undefined }> {
  if (segmentId === null) return { from: sql`${subscriptions} s`, where: sql`true` }
  const { matching, unseen } = await compileSegmentWithUnseen(ctx, segmentId)
  return {
    from: sql`${subscriptions} s
      join ${contacts} on ${contacts}.workspace_id = s.workspace_id and ${contacts}.id = s.contact_id`,
    where: matching,
    unseen,
  }
}
