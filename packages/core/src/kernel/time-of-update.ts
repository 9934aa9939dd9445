/** The time of an update: now, but never before the previous update, because the clocks of processes may differ. */
export function timeOfUpdate(previous: Date): Date {
  return new Date(Math.max(Date.now(), previous.getTime()))
}
