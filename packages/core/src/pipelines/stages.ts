import { and, asc, count, eq, inArray, sql } from 'drizzle-orm'
import type { Ctx } from '../request/context.ts'
import { memoizePerDb } from '../db/client.ts'
import { isInTransaction } from '../db/transaction.ts'
import { microBatch } from '../kernel/micro-batch.ts'
import { conflict, invalidField } from '../kernel/errors.ts'
import { newId, type PipelineId, type StageId } from '../kernel/ids.ts'
import { withoutUndefined } from '../kernel/without-undefined.ts'
import { deals, stages } from '../db/schema/index.ts'
import type { Stage, StageChange } from './pipelines.schema.ts'

/** Where a deal is to stand; without `stageId`, in the pipeline's first stage. */
export interface StageTarget {
  pipelineId: PipelineId
  stageId?: StageId | undefined
}

/** Finds the stage and locks it, so that it cannot go before the transaction ends; or throws what is wrong with the place. */
export async function lockStage(ctx: Ctx, place: StageTarget): Promise<{ pipelineId: PipelineId; stageId: StageId }> {
  const isInPipeline = isInPipelines(ctx, [place.pipelineId])
  const [stage] = await ctx.db
    .select({ pipelineId: stages.pipelineId, stageId: stages.id })
    .from(stages)
    .where(and(isInPipeline, place.stageId ? eq(stages.id, place.stageId) : undefined))
    .orderBy(asc(stages.position))
    .limit(1)
    .for('key share')
  if (stage) return stage
  if ((await ctx.db.$count(stages, isInPipeline)) === 0) throw invalidField('pipelineId', 'Pipeline not found')
  if (place.stageId) throw invalidField('stageId', 'Stage not found in this pipeline')
  // The first stage was just removed: another is the first.
  return lockStage(ctx, place)
}

/**
 * The stage for a new deal, as `lockStage`; outside a transaction, where a lock would not last, without the lock: the
 * foreign key of the deal has the last word. Look-ups that arrive together share a statement.
 */
export async function findStage(ctx: Ctx, place: StageTarget): Promise<StageId> {
  if (isInTransaction(ctx.db)) return (await lockStage(ctx, place)).stageId
  const stages = await readStagesInBatch(ctx.db)({ ctx, pipelineId: place.pipelineId })
  const stage = place.stageId ? stages.find(({ id }) => id === place.stageId) : stages[0]
  if (stage) return stage.id
  throw stages.length === 0
    ? invalidField('pipelineId', 'Pipeline not found')
    : invalidField('stageId', 'Stage not found in this pipeline')
}

const readStagesInBatch = memoizePerDb(() =>
  microBatch(
    async (requests: { ctx: Ctx; pipelineId: PipelineId }[]) => {
      const [first] = requests
      const pipelineIds = [...new Set(requests.map(({ pipelineId }) => pipelineId))]
      const stages = first ? await readStages(first.ctx, pipelineIds) : new Map<PipelineId, Stage[]>()
      return requests.map(({ pipelineId }) => stages.get(pipelineId) ?? [])
    },
    ({ ctx }) => ctx.workspaceId,
  ),
)

/** The stages of several pipelines, by pipeline, in order. */
export async function readStages(ctx: Ctx, pipelineIds: readonly PipelineId[]): Promise<Map<PipelineId, Stage[]>> {
  const rows = await ctx.db.select().from(stages).where(isInPipelines(ctx, pipelineIds)).orderBy(asc(stages.position))
  const rowsByPipeline = Map.groupBy(rows, (stage) => stage.pipelineId)
  const toStage = ({ id, name, position, winProbability }: Stage) => ({ id, name, position, winProbability })
  return new Map([...rowsByPipeline].map(([pipelineId, found]) => [pipelineId, found.map(toStage)]))
}

/** What `change` makes of the stages there are: those it names by id keep what it leaves out, the others are new. */
export function applyStageChanges(current: readonly Stage[], change: readonly StageChange[]): Stage[] {
  return change.map((stageChange, position) => {
    const existing = current.find(({ id }) => id === stageChange.id)
    if (stageChange.id && !existing) throw invalidField(`stages.${position}.id`, 'Stage not found')
    const { id, name = '', winProbability = 0 } = { id: newId('stg'), ...existing, ...withoutUndefined(stageChange) }
    return { id, name, position, winProbability }
  })
}

/** Puts `next` in the place of all the stages of a locked pipeline. One that has deals cannot go: conflict. */
export async function replaceStages(
  ctx: Ctx,
  pipelineId: PipelineId,
  { current, next }: { current: readonly Stage[]; next: readonly Stage[] },
): Promise<void> {
  // All at once and in the order of their ids, as whoever takes several does, so that no two wait for each other.
  await ctx.db
    .select({ id: stages.id })
    .from(stages)
    .where(isInPipelines(ctx, [pipelineId]))
    .orderBy(asc(stages.id))
    .for('update')
  const removed = current.filter((stage) => !next.some(({ id }) => id === stage.id))
  await removeStages(
    ctx,
    removed.map(({ id }) => id),
  )
  // Out of the way, where no position is: each row is checked against the others as it is written.
  await ctx.db
    .update(stages)
    .set({ position: sql`-1 - ${stages.position}` })
    .where(isInPipelines(ctx, [pipelineId]))
  await ctx.db
    .insert(stages)
    .values(next.map((stage) => ({ ...stage, workspaceId: ctx.workspaceId, pipelineId })))
    .onConflictDoUpdate({
      target: [stages.workspaceId, stages.id],
      set: {
        name: sql`excluded.name`,
        position: sql`excluded.position`,
        winProbability: sql`excluded.win_probability`,
      },
    })
}

/** Removes stages that have no deals; otherwise a conflict that says how many. */
export async function removeStages(ctx: Ctx, ids: readonly StageId[]): Promise<void> {
  if (ids.length === 0) return
  const isRemoved = and(eq(stages.workspaceId, ctx.workspaceId), inArray(stages.id, [...ids]))
  // After this no deal can come in until the transaction ends, so the count below is the last word.
  await ctx.db.select({ id: stages.id }).from(stages).where(isRemoved).orderBy(asc(stages.id)).for('update')
  const [usage] = await ctx.db
    .select({ dealCount: count() })
    .from(deals)
    .where(and(eq(deals.workspaceId, ctx.workspaceId), inArray(deals.stageId, [...ids])))
  const { dealCount = 0 } = usage ?? {}
  if (dealCount > 0) {
    throw conflict(`In use by ${dealCount} ${dealCount === 1 ? 'deal' : 'deals'}`, { dealCount })
  }
  await ctx.db.delete(stages).where(isRemoved)
}

function isInPipelines(ctx: Ctx, pipelineIds: readonly PipelineId[]) {
  return and(eq(stages.workspaceId, ctx.workspaceId), inArray(stages.pipelineId, [...pipelineIds]))
}
