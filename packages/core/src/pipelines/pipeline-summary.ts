import { sql } from 'drizzle-orm'
import type { Ctx } from '../request/context.ts'
import { notFound } from '../kernel/errors.ts'
import { idOf, type PipelineId, uuidOf } from '../kernel/ids.ts'
import type { PipelineSummary } from './pipelines.schema.ts'

interface StageSums extends Record<string, unknown> {
  id: string
  probability: number
  count: number
  /** Of digits: PostgreSQL adds without end, a JSON number does not. */
  cents: string
}

/**
 * The OPEN deals of a pipeline, counted and summed by stage and in all. One statement, so one instant: a deal that moves
 * meanwhile is counted once. Reads an index that holds the values, and no deal itself.
 */
export async function summarizePipeline(ctx: Ctx, id: PipelineId): Promise<PipelineSummary> {
  const { rows } = await ctx.db.execute<StageSums>(sql`
    select s.id, s.win_probability as probability, open.count, open.cents
    from stages s cross join lateral (
      select count(*)::int as count, coalesce(sum(d.value_cents), 0)::text as cents
      from deals d
      where d.workspace_id = s.workspace_id and d.pipeline_id = s.pipeline_id and d.stage_id = s.id
        and d.status = 'OPEN') open
    where s.workspace_id = ${uuidOf(ctx.workspaceId)} and s.pipeline_id = ${uuidOf(id)}
    order by s.position`)
  // A pipeline has at least one stage.
  if (rows.length === 0) throw notFound('Pipeline')
  const weightedPercents = sumOf(rows, ({ cents, probability }) => BigInt(cents) * BigInt(probability))
  return {
    pipelineId: id,
    stages: rows.map((row) => ({ stageId: idOf('stg', row.id), ...toSums([row]) })),
    // Half a cent is rounded up.
    total: { ...toSums(rows), ...toExactAmount('weightedValueCents', (weightedPercents + 50n) / 100n) },
  }
}

function toSums(rows: readonly StageSums[]) {
  const count = rows.reduce((sum, row) => sum + row.count, 0)
  return {
    count,
    ...toExactAmount(
      'valueCents',
      sumOf(rows, ({ cents }) => BigInt(cents)),
    ),
  }
}

function sumOf(rows: readonly StageSums[], amount: (row: StageSums) => bigint): bigint {
  return rows.reduce((sum, row) => sum + amount(row), 0n)
}

/** As a number where a number can be right, and as digits in any case. */
function toExactAmount<Name extends string>(name: Name, sum: bigint) {
  const number = sum <= Number.MAX_SAFE_INTEGER ? Number(sum) : null
  return { [name]: number, [`${name}Exact`]: String(sum) } as Record<Name, number | null> &
    Record<`${Name}Exact`, string>
}
