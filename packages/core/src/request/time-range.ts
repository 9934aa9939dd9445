/** Time ranges of listings: `createdAfter` and `createdBefore`, and the same for other moments. */
import { and, type SQL, sql, type SQLWrapper } from 'drizzle-orm'
import { uuidAt } from '../kernel/ids.ts'
import { dateNote, EmptyAsNone, TimestampInput } from '../kernel/validation.ts'
import type { Timestamp } from '../kernel/values/timestamps.ts'

type RangeParameter<Name extends string> = `${Name}After` | `${Name}Before`

const Bound = EmptyAsNone(TimestampInput)
type Bound = typeof Bound

/** The parameters of a range: `timeRange('created')` has `createdAfter` and `createdBefore`. */
export function timeRange<const Name extends 'created' | 'updated' | 'due' | 'closed' | 'expectedClose' | 'occurred'>(
  name: Name,
): Record<RangeParameter<Name>, Bound> {
  const words = name === 'expectedClose' ? 'expected to close' : name
  const capitalized = words.replace(/^./, (letter) => letter.toUpperCase())
  const parameters = {
    [`${name}After`]: Bound.describe(`${capitalized} at or after this time. ${dateNote}`),
    [`${name}Before`]: Bound.describe(`${capitalized} before this time. ${dateNote}`),
  }
  return parameters as Record<RangeParameter<Name>, Bound>
}

interface TimeRange {
  /** Inclusive. */
  after: Timestamp | undefined
  /** Exclusive. */
  before: Timestamp | undefined
}
interface CreatedRange {
  createdAfter?: Timestamp | undefined
  createdBefore?: Timestamp | undefined
}

/** The condition that a column is in the range. Undefined if the range has no bounds. */
export function isInRange(column: SQLWrapper, { after, before }: TimeRange): SQL | undefined {
  return and(after && sql`${column} >= ${after}::timestamptz`, before && sql`${column} < ${before}::timestamptz`)
}

export function isCreatedInRange(table: { createdAt: SQLWrapper }, query: CreatedRange): SQL | undefined {
  return isInRange(table.createdAt, { after: query.createdAfter, before: query.createdBefore })
}

/** The same for a column of calendar dates, each of which is its first instant in UTC. `timestamp` drops the zone, UTC. */
export function isDateInRange(column: SQLWrapper, { after, before }: TimeRange): SQL | undefined {
  return and(after && sql`${column} >= ${after}::timestamp`, before && sql`${column} < ${before}::timestamp`)
}

/** For tables whose records show the timestamp of their UUIDv7 as `createdAt`. */
export function isIdInRange(table: { id: SQLWrapper }, { createdAfter, createdBefore }: CreatedRange): SQL | undefined {
  const firstUuid = (moment: Timestamp) => uuidAt(Math.max(0, Date.parse(moment)))
  return and(
    createdAfter && sql`${table.id} >= ${firstUuid(createdAfter)}::uuid`,
    createdBefore && sql`${table.id} < ${firstUuid(createdBefore)}::uuid`,
  )
}
