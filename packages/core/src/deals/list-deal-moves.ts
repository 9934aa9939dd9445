import { and, eq } from 'drizzle-orm'
import type { Ctx } from '../request/context.ts'
import type { DealId } from '../kernel/ids.ts'
import { byCreation, type Page, readPage } from '../request/paging.ts'
import { isCreatedInRange } from '../request/time-range.ts'
import { dealMoves } from '../db/schema/index.ts'
import { readDeal } from './update-deal.ts'
import type { DealMove, DealMoveQuery } from './deals.schema.ts'

type DealMoveRow = typeof dealMoves.$inferSelect

/** Returns a page of the moves of a deal, newest first. */
export async function listDealMoves(ctx: Ctx, dealId: DealId, query: DealMoveQuery): Promise<Page<DealMove>> {
  await readDeal(ctx, dealId)
  const page = await readPage<DealMoveRow>(ctx, {
    name: `deal activity ${dealId}`,
    query,
    ...byCreation<DealMoveRow>(dealMoves),
    read: ({ after, orderBy, limit }) =>
      ctx.db
        .select()
        .from(dealMoves)
        .where(
          and(
            eq(dealMoves.workspaceId, ctx.workspaceId),
            eq(dealMoves.dealId, dealId),
            isCreatedInRange(dealMoves, query),
            after,
          ),
        )
        .orderBy(...orderBy)
        .limit(limit),
  })
  return { ...page, data: page.data.map(toDealMove) }
}

function toDealMove(row: DealMoveRow): DealMove {
  return {
    id: row.id,
    from: { pipelineId: row.fromPipelineId, stageId: row.fromStageId, status: row.fromStatus },
    to: { pipelineId: row.toPipelineId, stageId: row.toStageId, status: row.toStatus },
    userId: row.userId,
    apiKeyId: row.apiKeyId,
    createdAt: row.createdAt,
  }
}
