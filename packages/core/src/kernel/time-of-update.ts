import { type Timestamp, timestampNow } from './validation.ts'

/** The time of an update: now, but never before the previous update, because the clocks of processes may differ. */
export function timeOfUpdate(previous: Timestamp): Timestamp {
  const now = timestampNow()
  return now > previous ? now : previous
}
