/** Moments as text: ISO 8601, UTC, with milliseconds. */
import { z } from 'zod'

/** A moment as every response shows it: ISO 8601, UTC, with milliseconds. */
export const Timestamp = z.string().meta({ format: 'date-time', examples: ['2026-11-21T06:35:49.123Z'] })
declare const timestampBrand: unique symbol
/** The text of a moment in the years 1 to 9999. Rows have it too, and `<` compares two of them. */
export type Timestamp = string & { readonly [timestampBrand]: true }

/** The timestamp of a moment: milliseconds since 1970, a `Date`, or its text. */
export const timestampAt = (moment: Date | number | string) => new Date(moment).toISOString() as Timestamp
export const timestampNow = () => timestampAt(Date.now())
/** Converts a timestamp from PostgreSQL's format. Fast for UTC, which needs no `Date`. */
export function timestampOf(text: string): Timestamp {
  const isUtc = text.endsWith('+00') && text[4] === '-' && text.length <= 26
  if (!isUtc) return timestampAt(text)
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${text.slice(20, -3).padEnd(3, '0')}Z` as Timestamp
}

/** The time of an update: now, but never before the previous update, because the clocks of processes may differ. */
export const timeOfUpdate = (previous: Timestamp): Timestamp => laterOf(timestampNow(), previous)

/** The later of two moments; null is before all. */
export function laterOf(one: Timestamp, other: Timestamp): Timestamp
export function laterOf(one: Timestamp | null, other: Timestamp | null): Timestamp | null
export function laterOf(one: Timestamp | null, other: Timestamp | null): Timestamp | null {
  return (one ?? '') > (other ?? '') ? one : other
}

export const earlierOf = (one: Timestamp, other: Timestamp): Timestamp => (one < other ? one : other)
