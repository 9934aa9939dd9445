import { and, asc, eq, inArray } from 'drizzle-orm'
import type { Ctx } from '../context.ts'
import { toTimestamp } from '../fields.ts'
import { newId } from '../ids.ts'
import { byCreation, type Page, readPage } from '../paging.ts'
import { pipelines, stages } from '../schema.ts'
import type { Pipeline, PipelineQuery } from './pipelines.schema.ts'

type PipelineRow = typeof pipelines.$inferSelect

const firstStages = [
  { name: 'Lead', winProbability: 10 },
  { name: 'Qualified', winProbability: 30 },
  { name: 'Proposal', winProbability: 60 },
  { name: 'Negotiation', winProbability: 80 },
]

/** The pipeline that every workspace starts with: "Sales", from Lead to Negotiation. */
export async function createFirstPipeline(ctx: Pick<Ctx, 'db' | 'workspaceId'>): Promise<void> {
  const { db, workspaceId } = ctx
  const pipelineId = newId('pip')
  await db.insert(pipelines).values({ workspaceId, id: pipelineId, name: 'Sales' })
  await db
    .insert(stages)
    .values(firstStages.map((stage, position) => ({ ...stage, workspaceId, id: newId('stg'), pipelineId, position })))
}

/** A page of the workspace's pipelines, each with its stages in order. */
export async function listPipelines(ctx: Ctx, query: PipelineQuery): Promise<Page<Pipeline>> {
  const page = await readPage<PipelineRow>(ctx, {
    name: 'pipelines',
    query,
    ...byCreation<PipelineRow>(pipelines),
    read: ({ after, orderBy, limit }) =>
      ctx.db
        .select()
        .from(pipelines)
        .where(and(eq(pipelines.workspaceId, ctx.workspaceId), after))
        .orderBy(...orderBy)
        .limit(limit),
  })
  const stagesOf = await readStages(
    ctx,
    page.data.map((pipeline) => pipeline.id),
  )
  return { ...page, data: page.data.map((row) => toPipeline(row, stagesOf.get(row.id) ?? [])) }
}

type StageRow = typeof stages.$inferSelect

async function readStages(ctx: Ctx, pipelineIds: string[]): Promise<Map<string, StageRow[]>> {
  const rows = await ctx.db
    .select()
    .from(stages)
    .where(and(eq(stages.workspaceId, ctx.workspaceId), inArray(stages.pipelineId, pipelineIds)))
    .orderBy(asc(stages.position))
  return Map.groupBy(rows, (stage) => stage.pipelineId)
}

function toPipeline(row: PipelineRow, stageRows: StageRow[]): Pipeline {
  return {
    id: row.id,
    name: row.name,
    stages: stageRows.map(({ id, name, position, winProbability }) => ({ id, name, position, winProbability })),
    createdAt: toTimestamp(row.createdAt),
    updatedAt: toTimestamp(row.updatedAt),
  }
}
