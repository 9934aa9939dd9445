import { and, asc, count, eq, inArray, sql } from 'drizzle-orm'
import type { Ctx } from '../request/context.ts'
import { memoizePerDb } from '../db/client.ts'
import { type Params, prepared } from '../db/prepared-query.ts'
import { isInTransaction } from '../db/transaction.ts'
import { microBatch } from '../kernel/concurrency/micro-batch.ts'
import { conflict, invalidField } from '../kernel/errors.ts'
import { newId, type PipelineId, type StageId, uuidOf, type WorkspaceId } from '../kernel/ids.ts'
import { withoutUndefined } from '../kernel/without-undefined.ts'
import { deals, stages } from '../db/schema/index.ts'
import type { Stage, StageChange } from './pipelines.schema.ts'

/** The pipeline and stage for a deal. Default: the pipeline's first stage. */
export interface StageTarget {
  pipelineId: PipelineId
  stageId?: StageId | undefined
}

/**
 * Finds the stage and locks it against removal until the transaction ends. Throws `validation_error` if it does not
 * exist.
 */
export async function lockStage(ctx: Ctx, target: StageTarget): Promise<{ pipelineId: PipelineId; stageId: StageId }> {
  const isInPipeline = isInPipelines(ctx, [target.pipelineId])
  const [stage] = await ctx.db
    .select({ pipelineId: stages.pipelineId, stageId: stages.id })
    .from(stages)
    .where(and(isInPipeline, target.stageId ? eq(stages.id, target.stageId) : undefined))
    .orderBy(asc(stages.position))
    .limit(1)
    .for('key share')
  if (stage) return stage
  if ((await ctx.db.$count(stages, isInPipeline)) === 0) throw invalidField('pipelineId', 'Pipeline not found')
  if (target.stageId) throw invalidField('stageId', 'Stage not found in this pipeline')
  // The first stage was removed concurrently. Another stage is now the first.
  return lockStage(ctx, target)
}

/**
 * Finds the stage for a new deal. Inside a transaction, locks it like `lockStage`. Outside a transaction, a lock would
 * not last, and the foreign key of the deal rejects a stage that has been removed. Concurrent look-ups share a
 * statement.
 */
export async function findStage(ctx: Ctx, target: StageTarget): Promise<StageId> {
  if (isInTransaction(ctx.db)) return (await lockStage(ctx, target)).stageId
  const stages = await readStagesInBatch(ctx.db)({ ctx, pipelineId: target.pipelineId })
  const stage = target.stageId ? stages.find(({ id }) => id === target.stageId) : stages[0]
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

/** Reads the stages of several pipelines in order, grouped by pipeline. */
export async function readStages(ctx: Ctx, pipelineIds: readonly PipelineId[]): Promise<Map<PipelineId, Stage[]>> {
  const rows = await selectStages(ctx.db, { workspaceId: ctx.workspaceId, pipelineIds: pipelineIds.map(uuidOf) })
  const rowsByPipeline = Map.groupBy(rows, (stage) => stage.pipelineId)
  const toStage = ({ id, name, position, winProbability }: Stage) => ({ id, name, position, winProbability })
  return new Map([...rowsByPipeline].map(([pipelineId, found]) => [pipelineId, found.map(toStage)]))
}

/** Prepared, because every new deal reads the stages of its pipeline. */
const selectStages = prepared(
  'read stages',
  (db, param: Params<{ workspaceId: WorkspaceId; pipelineIds: readonly string[] }>) =>
    db
      .select()
      .from(stages)
      .where(
        and(
          eq(stages.workspaceId, sql.param(param('workspaceId'), stages.workspaceId)),
          sql`${stages.pipelineId} = any(${param('pipelineIds')}::uuid[])`,
        ),
      )
      .orderBy(asc(stages.position)),
)

/**
 * Applies `change` to the current stages: a stage with an id keeps omitted fields, and a stage without an id is new.
 */
export function applyStageChanges(current: readonly Stage[], change: readonly StageChange[]): Stage[] {
  return change.map((stageChange, position) => {
    const existing = current.find(({ id }) => id === stageChange.id)
    if (stageChange.id && !existing) throw invalidField(`stages.${position}.id`, 'Stage not found')
    const { id, name = '', winProbability = 0 } = { id: newId('stg'), ...existing, ...withoutUndefined(stageChange) }
    return { id, name, position, winProbability }
  })
}

/** Replaces all stages of a locked pipeline with `next`. Throws `in_use` if a removed stage has deals. */
export async function replaceStages(
  ctx: Ctx,
  pipelineId: PipelineId,
  { current, next }: { current: readonly Stage[]; next: readonly Stage[] },
): Promise<void> {
  // Locks the stages in the order of their ids, like every transaction that locks several stages, to prevent deadlocks.
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
  // Moves the current positions out of the way: the unique constraint is checked after each row.
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

/** Removes stages. Throws `in_use` with the names of the stages that have deals, and the number of deals. */
export async function removeStages(ctx: Ctx, ids: readonly StageId[]): Promise<void> {
  if (ids.length === 0) return
  const isRemoved = and(eq(stages.workspaceId, ctx.workspaceId), inArray(stages.id, [...ids]))
  // This lock prevents new deals in these stages until the transaction ends, so that the count below is final.
  await ctx.db.select({ id: stages.id }).from(stages).where(isRemoved).orderBy(asc(stages.id)).for('update')
  const used = await ctx.db
    .select({ name: stages.name, dealCount: count() })
    .from(stages)
    .innerJoin(deals, and(eq(deals.workspaceId, stages.workspaceId), eq(deals.stageId, stages.id)))
    .where(isRemoved)
    .groupBy(stages.id, stages.name, stages.position)
    .orderBy(asc(stages.position))
  if (used.length > 0) {
    const dealCount = used.reduce((sum, stage) => sum + stage.dealCount, 0)
    const names = used.map(({ name }) => `"${name}"`).join(', ')
    const holds = used.length === 1 ? 'still has' : 'still have'
    const held = dealCount === 1 ? 'a deal: move it' : `${dealCount} deals: move them`
    throw conflict('in_use', `${names} ${holds} ${held} first`, { dealCount })
  }
  await ctx.db.delete(stages).where(isRemoved)
}

function isInPipelines(ctx: Ctx, pipelineIds: readonly PipelineId[]) {
  return and(eq(stages.workspaceId, ctx.workspaceId), inArray(stages.pipelineId, [...pipelineIds]))
}
