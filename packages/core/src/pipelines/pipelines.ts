import { isDeepStrictEqual } from 'node:util'
import { and, eq } from 'drizzle-orm'
import { audit } from '../audit/audit.ts'
import { byId } from '../request/by-id.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { notFound } from '../kernel/errors.ts'
import { timeOfUpdate, timestampNow } from '../kernel/values/timestamps.ts'
import { newId, type PipelineId } from '../kernel/ids.ts'
import { requireQuota } from '../quotas/require-quota.ts'
import { byCreation, type Page, readPage } from '../request/paging.ts'
import { isCreatedInRange } from '../request/time-range.ts'
import { pipelines, stages } from '../db/schema/index.ts'
import type { Pipeline, PipelineChange, PipelineInput, PipelineQuery, Stage } from './pipelines.schema.ts'
import { applyStageChanges, readStages, removeStages, replaceStages } from './stages.ts'
import { updateStatement } from '../db/json-rows.ts'

type PipelineRow = typeof pipelines.$inferSelect

const defaultPipeline: PipelineInput = {
  name: 'Sales',
  stages: [
    { name: 'Lead', winProbability: 10 },
    { name: 'Qualified', winProbability: 30 },
    { name: 'Proposal', winProbability: 60 },
    { name: 'Negotiation', winProbability: 80 },
  ],
}

/** Creates the pipeline that every workspace starts with. */
export async function createDefaultPipeline(ctx: Pick<Ctx, 'db' | 'workspaceId'>): Promise<void> {
  await insertPipeline(ctx, defaultPipeline)
}

/** Creates a pipeline with its stages. Throws `quota_exceeded` if the workspace has the maximum number of pipelines. */
export function createPipeline(ctx: Ctx, input: PipelineInput): Promise<Pipeline> {
  return inTransaction(ctx, async (ctx) => {
    await requireQuota(ctx, 'pipelines', { count: () => countPipelines(ctx) })
    return insertPipeline(ctx, input)
  })
}

export function countPipelines(ctx: Ctx): Promise<number> {
  return ctx.db.$count(pipelines, eq(pipelines.workspaceId, ctx.workspaceId))
}

export async function readPipeline(ctx: Ctx, id: PipelineId): Promise<Pipeline> {
  const [row] = await ctx.db
    .select()
    .from(pipelines)
    .where(byId(pipelines, ctx, id))
  if (!row) throw notFound('Pipeline')
  return withStages(ctx, row)
}

/** Returns a page of the workspace's pipelines, each with its stages in order. */
export async function listPipelines(ctx: Ctx, query: PipelineQuery): Promise<Page<Pipeline>> {
  const page = await readPage<PipelineRow>(ctx, {
    name: 'pipelines',
    query,
    ...byCreation<PipelineRow>(pipelines),
    read: ({ after, orderBy, limit }) =>
      ctx.db
        .select()
        .from(pipelines)
        .where(and(eq(pipelines.workspaceId, ctx.workspaceId), isCreatedInRange(pipelines, query), after))
        .orderBy(...orderBy)
        .limit(limit),
  })
  const stagesByPipeline = await readStages(
    ctx,
    page.data.map((pipeline) => pipeline.id),
  )
  return { ...page, data: page.data.map((row) => toPipeline(row, stagesByPipeline.get(row.id))) }
}

/**
 * Updates the name and replaces the list of stages. Stages with an id remain, and stages missing from the list are
 * removed. Throws `in_use` if a removed stage has deals. The lock on the pipeline serializes concurrent updates.
 */
export function updatePipeline(ctx: Ctx, id: PipelineId, change: PipelineChange): Promise<Pipeline> {
  return inTransaction(ctx, async (ctx) => {
    const row = await lockPipeline(ctx, id)
    const current = await withStages(ctx, row)
    const next = {
      ...current,
      name: change.name ?? row.name,
      stages: change.stages ? applyStageChanges(current.stages, change.stages) : current.stages,
    }
    if (isDeepStrictEqual(next, current)) return current
    if (change.stages) await replaceStages(ctx, id, { current: current.stages, next: next.stages })
    const saved = { ...row, name: next.name, updatedAt: timeOfUpdate(row.updatedAt) }
    await updateRow(ctx.db, saved)
    return toPipeline(saved, next.stages)
  })
}

/** Deletes a pipeline. Throws `in_use` with the number of deals if it has any. */
export function deletePipeline(ctx: Ctx, id: PipelineId): Promise<void> {
  return inTransaction(ctx, async (ctx) => {
    const { stages } = await withStages(ctx, await lockPipeline(ctx, id))
    await removeStages(
      ctx,
      stages.map((stage) => stage.id),
    )
    await ctx.db.delete(pipelines).where(byId(pipelines, ctx, id))
    await audit(ctx, 'pipeline.deleted', { subjectId: id })
  })
}

/** Locks a pipeline until the transaction ends. */
export async function lockPipeline(ctx: Ctx, id: PipelineId): Promise<PipelineRow> {
  const [row] = await ctx.db
    .select()
    .from(pipelines)
    .where(byId(pipelines, ctx, id))
    .for('update')
  if (!row) throw notFound('Pipeline')
  return row
}

async function insertPipeline(ctx: Pick<Ctx, 'db' | 'workspaceId'>, input: PipelineInput): Promise<Pipeline> {
  const { db, workspaceId } = ctx
  const now = timestampNow()
  const pipeline: PipelineRow = { workspaceId, id: newId('pip'), name: input.name, createdAt: now, updatedAt: now }
  const newStages = applyStageChanges([], input.stages)
  await db.insert(pipelines).values(pipeline)
  await db.insert(stages).values(newStages.map((stage) => ({ ...stage, workspaceId, pipelineId: pipeline.id })))
  return toPipeline(pipeline, newStages)
}

async function withStages(ctx: Ctx, row: PipelineRow): Promise<Pipeline> {
  return toPipeline(row, (await readStages(ctx, [row.id])).get(row.id))
}

function toPipeline(row: PipelineRow, stages: Stage[] = []): Pipeline {
  return {
    id: row.id,
    name: row.name,
    stages,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  }
}

const updateRow = updateStatement(pipelines)
