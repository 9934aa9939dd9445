import { audit } from '../../audit/audit.ts'
import { detachSegment } from '../../campaigns/campaigns.ts'
import type { SegmentId } from '../../kernel/ids.ts'
import { type Ctx, inTransaction } from '../../request/context.ts'
import { deleteSegmentRow, lockSegment } from '../../segments/segments.ts'

/** Deletes a segment. Throws `in_use` if a campaign that is a DRAFT, SENDING or PAUSED has it. */
export function deleteSegment(ctx: Ctx, id: SegmentId): Promise<void> {
  return inTransaction(ctx, async (ctx) => {
    await lockSegment(ctx, id)
    await detachSegment(ctx, id)
    await deleteSegmentRow(ctx, id)
    await audit(ctx, 'segment.deleted', { subjectId: id })
  })
}
