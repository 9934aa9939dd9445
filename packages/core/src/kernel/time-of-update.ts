/** The time of an update: now, but never before the previous one, as the clocks of two processes may differ. */
export function timeOfUpdate(previous: Date): Date {
  return new Date(Math.max(Date.now(), previous.getTime()))
}
