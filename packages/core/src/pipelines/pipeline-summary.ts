import { sql, type SQL } from 'drizzle-orm'
import type { Ctx } from '../request/context.ts'
import { notFound } from '../kernel/errors.ts'
import { deals, stages } from '../db/schema/index.ts'
import { namedStatement } from '../db/statements/named-statement.ts'
import { int, nullable, text, textOf, timestamptz } from '../db/statements/sql-types.ts'
import type { PipelineId } from '../kernel/ids.ts'
import { maxLostReasons, type PipelineSummary, type PipelineSummaryQuery } from './pipelines.schema.ts'

/** More than the stages of a pipeline, so that their rows come first. */
const limit = sql.raw(String(maxLostReasons))

/** Null is no bound. */
const isBetween = (column: SQL, after: SQL, before: SQL): SQL =>
  sql`(${after} is null or ${column} >= ${after}) and (${before} is null or ${column} < ${before})`

/** Closed deals come after the stages: one row for each reason, with the sums of the status. */
const selectSums = namedStatement('sum the deals of a pipeline', {
  params: {
    workspaceId: stages.workspaceId,
    pipelineId: stages.pipelineId,
    ownerId: nullable(deals.ownerId),
    companyId: nullable(deals.companyId),
    closedAfter: nullable(timestamptz),
    closedBefore: nullable(timestamptz),
    expectedCloseAfter: nullable(text),
    expectedCloseBefore: nullable(text),
  },
  columns: {
    status: textOf<'OPEN' | 'WON' | 'LOST'>(),
    stageId: nullable(stages.id),
    probability: nullable(stages.winProbability),
    reason: nullable(text),
    count: int,
    /** Decimal digits: the sum may exceed the safe integers of JavaScript. */
    cents: text,
    statusCount: int,
    statusCents: text,
    place: int,
  },
  sql: ({ workspaceId, pipelineId, ownerId, companyId, ...range }) => sql`
    select 'OPEN' as status, s.id as stage_id, s.win_probability as probability, null::text as reason,
      open.count, open.cents, open.count as status_count, open.cents as status_cents, s.position as place
    from stages s cross join lateral (
      select count(*)::int as count, coalesce(sum(d.value_cents), 0)::text as cents
      from deals d
      where d.workspace_id = s.workspace_id and d.pipeline_id = s.pipeline_id and d.stage_id = s.id
        and d.status = 'OPEN' and (${ownerId} is null or d.owner_id = ${ownerId})
        and (${companyId} is null or d.company_id = ${companyId})
        and ${isBetween(sql`d.expected_close_on`, sql`${range.expectedCloseAfter}::timestamp`, sql`${range.expectedCloseBefore}::timestamp`)}) open
    where s.workspace_id = ${workspaceId} and s.pipeline_id = ${pipelineId}
    union all
    select status, null, null, reason, count, cents, status_count, status_cents, ${limit} + place
    from (
      select d.status, d.lost_reason as reason, count(*)::int as count, sum(d.value_cents)::text as cents,
        (sum(count(*)) over of_status)::int as status_count, (sum(sum(d.value_cents)) over of_status)::text as status_cents,
        row_number() over (partition by d.status order by count(*) desc, d.lost_reason)::int as place
      from deals d
      where d.workspace_id = ${workspaceId} and d.pipeline_id = ${pipelineId} and d.status <> 'OPEN'
        and (${ownerId} is null or d.owner_id = ${ownerId})
        and (${companyId} is null or d.company_id = ${companyId})
        and ${isBetween(sql`d.closed_at`, range.closedAfter, range.closedBefore)}
      group by d.status, d.lost_reason
      window of_status as (partition by d.status)) closed
    where place <= ${limit}
    order by place`,
})
type Sums = Awaited<ReturnType<typeof selectSums>>[number]

/**
 * Counts and sums the OPEN deals of a pipeline per stage and in total, and the closed ones by status and reason. One
 * statement reads one snapshot, so that a deal that moves concurrently is counted once. Index-only scans return the values.
 */
export async function summarizePipeline(
  ctx: Ctx,
  id: PipelineId,
  query: PipelineSummaryQuery = {},
): Promise<PipelineSummary> {
  const rows = await selectSums(ctx.db, {
    workspaceId: ctx.workspaceId,
    pipelineId: id,
    ownerId: query.ownerId ?? null,
    companyId: query.companyId ?? null,
    closedAfter: query.closedAfter ?? null,
    closedBefore: query.closedBefore ?? null,
    expectedCloseAfter: query.expectedCloseAfter ?? null,
    expectedCloseBefore: query.expectedCloseBefore ?? null,
  })
  const byStage = rows.flatMap((row) => (row.stageId === null ? [] : [{ ...row, stageId: row.stageId }]))
  // A pipeline has at least one stage.
  if (byStage.length === 0) throw notFound('Pipeline')
  const weightedPercents = sumOf(byStage, ({ cents, probability }) => BigInt(cents) * BigInt(probability ?? 0))
  return {
    pipelineId: id,
    stages: byStage.map((row) => ({ stageId: row.stageId, ...toSums(row) })),
    total: {
      count: byStage.reduce((sum, { count }) => sum + count, 0),
      ...toExactAmount(
        'valueCents',
        sumOf(byStage, ({ cents }) => BigInt(cents)),
      ),
      // Rounds half a cent up.
      ...toExactAmount('weightedValueCents', (weightedPercents + 50n) / 100n),
    },
    won: sumsOfStatus(rows, 'WON'),
    lost: sumsOfStatus(rows, 'LOST'),
    lostReasons: rows
      .filter(({ status }) => status === 'LOST')
      .map((row) => ({ lostReason: row.reason, ...toSums(row) })),
  }
}

function sumsOfStatus(rows: readonly Sums[], status: 'WON' | 'LOST') {
  const { statusCount: count = 0, statusCents: cents = '0' } = rows.find((row) => row.status === status) ?? {}
  return toSums({ count, cents })
}

function toSums({ count, cents }: Pick<Sums, 'count' | 'cents'>) {
  return { count, ...toExactAmount('valueCents', BigInt(cents)) }
}

function sumOf<Row>(rows: readonly Row[], amount: (row: Row) => bigint): bigint {
  return rows.reduce((sum, row) => sum + amount(row), 0n)
}

/** Returns the sum as a number, or null if the number would be inexact, and as decimal digits. */
function toExactAmount<Name extends string>(name: Name, sum: bigint) {
  const number = sum <= Number.MAX_SAFE_INTEGER ? Number(sum) : null
  return { [name]: number, [`${name}Exact`]: String(sum) } as Record<Name, number | null> &
    Record<`${Name}Exact`, string>
}
