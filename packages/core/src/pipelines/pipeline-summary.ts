import { sql } from 'drizzle-orm'
import type { Ctx } from '../request/context.ts'
import { notFound } from '../kernel/errors.ts'
import { stages } from '../db/schema/index.ts'
import { namedStatement } from '../db/statements/named-statement.ts'
import { int, text } from '../db/statements/sql-types.ts'
import type { PipelineId } from '../kernel/ids.ts'
import type { PipelineSummary } from './pipelines.schema.ts'

const selectStageSums = namedStatement('sum the deals of stages', {
  params: { workspaceId: stages.workspaceId, pipelineId: stages.pipelineId },
  columns: {
    id: stages.id,
    probability: stages.winProbability,
    count: int,
    /** Decimal digits: the sum may exceed the safe integers of JavaScript. */
    cents: text,
  },
  sql: ({ workspaceId, pipelineId }) => sql`
    select s.id, s.win_probability as probability, open.count, open.cents
    from stages s cross join lateral (
      select count(*)::int as count, coalesce(sum(d.value_cents), 0)::text as cents
      from deals d
      where d.workspace_id = s.workspace_id and d.pipeline_id = s.pipeline_id and d.stage_id = s.id
        and d.status = 'OPEN') open
    where s.workspace_id = ${workspaceId} and s.pipeline_id = ${pipelineId}
    order by s.position`,
})
type StageSums = Awaited<ReturnType<typeof selectStageSums>>[number]

/**
 * Counts and sums the OPEN deals of a pipeline, per stage and in total. One statement reads one snapshot, so that a
 * deal that moves concurrently is counted once. An index-only scan returns the values.
 */
export async function summarizePipeline(ctx: Ctx, id: PipelineId): Promise<PipelineSummary> {
  const rows = await selectStageSums(ctx.db, { workspaceId: ctx.workspaceId, pipelineId: id })
  // A pipeline has at least one stage.
  if (rows.length === 0) throw notFound('Pipeline')
  const weightedPercents = sumOf(rows, ({ cents, probability }) => BigInt(cents) * BigInt(probability))
  return {
    pipelineId: id,
    stages: rows.map((row) => ({ stageId: row.id, ...toSums([row]) })),
    // Rounds half a cent up.
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

/** Returns the sum as a number, or null if the number would be inexact, and as decimal digits. */
function toExactAmount<Name extends string>(name: Name, sum: bigint) {
  const number = sum <= Number.MAX_SAFE_INTEGER ? Number(sum) : null
  return { [name]: number, [`${name}Exact`]: String(sum) } as Record<Name, number | null> &
    Record<`${Name}Exact`, string>
}
