/** Time ranges of listings: `createdAfter` and `createdBefore`, and the same for other moments. */
import { and, type SQL, sql, type SQLWrapper } from 'drizzle-orm'
import { uuidAt } from '../kernel/ids.ts'
import { dateNote, EmptyAsNone, TimestampInput } from '../kernel/validation.ts'

type RangeParameter<Name extends string> = `${Name}After` | `${Name}Before`

const Bound = EmptyAsNone(TimestampInput)
type Bound = typeof Bound

/** The parameters of a range: `timeRange('created')` has `createdAfter` and `createdBefore`. */
export function timeRange<const Name extends 'created' | 'updated' | 'due' | 'closed'>(
  name: Name,
): Record<RangeParameter<Name>, Bound> {
  const capitalized = name.replace(/^./, (letter) => letter.toUpperCase())
  const parameters = {
    [`${name}After`]: Bound.describe(`${capitalized} at or after this time. ${dateNote}`),
    [`${name}Before`]: Bound.describe(`${capitalized} before this time. ${dateNote}`),
  }
  return parameters as Record<RangeParameter<Name>, Bound>
}

interface TimeRange {
  /** Inclusive. */
  after: Date | undefined
  /** Exclusive. */
  before: Date | undefined
}
interface CreatedRange {
  createdAfter?: Date | undefined
  createdBefore?: Date | undefined
}

/** The condition that a column is in the range. Undefined if the range has no bounds. */
export function isInRange(column: SQLWrapper, { after, before }: TimeRange): SQL | undefined {
  return and(
    after && sql`${column} >= ${after.toISOString()}::timestamptz`,
    before && sql`${column} < ${before.toISOString()}::timestamptz`,
  )
}

export function isCreatedInRange(table: { createdAt: SQLWrapper }, query: CreatedRange): SQL | undefined {
  return isInRange(table.createdAt, { after: query.createdAfter, before: query.createdBefore })
}

/** For tables whose records show the timestamp of their UUIDv7 as `createdAt`. */
export function isIdInRange(table: { id: SQLWrapper }, { createdAfter, createdBefore }: CreatedRange): SQL | undefined {
  const firstUuid = (date: Date) => uuidAt(Math.max(0, date.getTime()))
  return and(
    createdAfter && sql`${table.id} >= ${firstUuid(createdAfter)}::uuid`,
    createdBefore && sql`${table.id} < ${firstUuid(createdBefore)}::uuid`,
  )
}
