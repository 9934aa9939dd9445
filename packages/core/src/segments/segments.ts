import { isDeepStrictEqual } from 'node:util'
import { and, eq, type SQL } from 'drizzle-orm'
import { segments } from '../db/schema/index.ts'
import { AppError, invalidField, notFound } from '../kernel/errors.ts'
import { newId, type SegmentId } from '../kernel/ids.ts'
import { timeOfUpdate, timestampNow } from '../kernel/values/timestamps.ts'
import { requireSize } from '../kernel/stored-size.ts'
import { withoutUndefined } from '../kernel/without-undefined.ts'
import { requireQuota } from '../quotas/require-quota.ts'
import { byId } from '../request/by-id.ts'
import { containsText } from '../request/contains-text.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { byCreation, type Page, readPage } from '../request/paging.ts'
import { isCreatedInRange } from '../request/time-range.ts'
import { compileFilter, type FilterOptions } from './compile-filter.ts'
import { type CompiledFilter, compileWithUnseen } from './compile-unseen.ts'
import type { Filter } from './filter.schema.ts'
import type { Segment, SegmentChange, SegmentInput, SegmentQuery } from './segments.schema.ts'
import { updateStatement } from '../db/json-rows.ts'

type SegmentRow = typeof segments.$inferSelect

const maxFilterBytes = 65_536

/**
 * Creates a segment. Throws `validation_error` if the filter names something unknown, and `quota_exceeded` if the
 * workspace has the maximum number of segments.
 */
export async function createSegment(ctx: Ctx, input: SegmentInput): Promise<Segment> {
  requireSize('filter', input.filter, maxFilterBytes)
  await compileFilter(ctx, input.filter)
  const now = timestampNow()
  const segment: SegmentRow = {
    workspaceId: ctx.workspaceId,
    id: newId('seg'),
    name: input.name,
    filter: input.filter,
    createdAt: now,
    updatedAt: now,
  }
  await inTransaction(ctx, async (ctx) => {
    await requireQuota(ctx, 'segments', { count: () => countSegments(ctx) })
    await ctx.db.insert(segments).values(segment)
  })
  return toSegment(segment)
}

export function countSegments(ctx: Ctx): Promise<number> {
  return ctx.db.$count(segments, eq(segments.workspaceId, ctx.workspaceId))
}

/** Reads one segment. */
export async function readSegment(ctx: Ctx, id: SegmentId): Promise<Segment> {
  const row = await findSegment(ctx, id)
  if (!row) throw notFound('Segment')
  return toSegment(row)
}

export async function listSegments(ctx: Ctx, query: SegmentQuery): Promise<Page<Segment>> {
  const page = await readPage<SegmentRow>(ctx, {
    name: 'segments',
    query,
    ...byCreation<SegmentRow>(segments),
    read: ({ after, orderBy, limit }) =>
      ctx.db
        .select()
        .from(segments)
        .where(
          and(
            eq(segments.workspaceId, ctx.workspaceId),
            query.search === undefined ? undefined : containsText(segments.name, query.search),
            isCreatedInRange(segments, query),
            after,
          ),
        )
        .orderBy(...orderBy)
        .limit(limit),
  })
  return { ...page, data: page.data.map(toSegment) }
}

/**
 * Updates the fields in the change. A no-op update writes nothing. Throws `validation_error` if the new filter names
 * something unknown.
 */
export async function updateSegment(ctx: Ctx, id: SegmentId, change: SegmentChange): Promise<Segment> {
  if (change.filter) await compileFilter(ctx, change.filter)
  return inTransaction(ctx, async (ctx) => {
    const current = await lockSegmentForUpdate(ctx, id)
    const next = { ...current, ...withoutUndefined(change) }
    requireSize('filter', next.filter, maxFilterBytes)
    if (isDeepStrictEqual(next, current)) return toSegment(current)
    const saved = { ...next, updatedAt: timeOfUpdate(current.updatedAt) }
    await updateRow(ctx.db, saved)
    return toSegment(saved)
  })
}

/** Locks a segment that is about to be changed until the transaction ends. */
export async function lockSegmentForUpdate(ctx: Ctx, id: SegmentId): Promise<SegmentRow> {
  const [row] = await ctx.db
    .select()
    .from(segments)
    .where(byId(segments, ctx, id))
    .for('no key update')
  if (!row) throw notFound('Segment')
  return row
}

/** Locks a segment that is about to be deleted: no campaign can start to refer to it until the transaction ends. */
export async function lockSegment(ctx: Ctx, id: SegmentId): Promise<void> {
  const [row] = await ctx.db
    .select({ id: segments.id })
    .from(segments)
    .where(byId(segments, ctx, id))
    .for('update')
  if (!row) throw notFound('Segment')
}

/** Deletes the row of a segment that no campaign refers to. */
export async function deleteSegmentRow(ctx: Ctx, id: SegmentId): Promise<void> {
  await ctx.db.delete(segments).where(byId(segments, ctx, id))
}

/**
 * Returns the condition for the contacts of a segment. Throws `validation_error` if the input names an unknown segment,
 * and `wrong_state` if something that the segment refers to was deleted, instead of matching no contact or all of them.
 */
export async function compileSegment(ctx: Ctx, id: SegmentId): Promise<SQL> {
  return (await compileSegmentWithUnseen(ctx, id)).matching
}

export async function compileSegmentWithUnseen(
  ctx: Ctx,
  id: SegmentId,
  options: FilterOptions = {},
): Promise<CompiledFilter> {
  const row = await findSegment(ctx, id)
  if (!row) throw invalidField('segmentId', 'Segment not found')
  const compiling = compileWithUnseen(ctx, row.filter as Filter, { ...options, checksOptions: false })
  return compiling.catch((error: unknown) => {
    if (!(error instanceof AppError) || error.code !== 'validation_error') throw error
    const message = `The segment "${row.name}" must be changed before it can be used: ${error.message}`
    throw new AppError('wrong_state', message, { ...(error.issues && { issues: [...error.issues] }) })
  })
}

/** Throws `validation_error` if the segment, which the input names, does not exist. */
export async function checkSegmentId(ctx: Ctx, id: SegmentId): Promise<void> {
  if (!(await findSegment(ctx, id))) throw invalidField('segmentId', 'Segment not found')
}

async function findSegment(ctx: Ctx, id: SegmentId): Promise<SegmentRow | undefined> {
  const [row] = await ctx.db
    .select()
    .from(segments)
    .where(byId(segments, ctx, id))
  return row
}

function toSegment(row: SegmentRow): Segment {
  return {
    id: row.id,
    name: row.name,
    filter: row.filter as Filter,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  }
}

const updateRow = updateStatement(segments)
