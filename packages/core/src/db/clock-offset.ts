/** The offset between the clocks of this process and of the database: both generate ids and timestamps. */
import { z } from 'zod'
import type { Db } from './client.ts'
import { readDatabaseClock } from './database-facts.ts'
import { withTimeout } from '../kernel/concurrency/with-timeout.ts'

/** `offsetMs` is positive when the clock of this process is ahead; the true offset is within `errorMs` of it. */
export interface ClockOffset {
  offsetMs: number
  errorMs: number
}

export const Clock = z.object({
  status: z
    .enum(['ok', 'off', 'unknown'])
    .describe('`off`: more than five seconds ahead of or behind the clock of the database.'),
  offsetMs: z
    .int()
    .nullable()
    .describe('The difference in milliseconds. Positive if the clock of this process is ahead, `null` if unknown.'),
})
export type Clock = z.output<typeof Clock>

const toleranceMs = 5_000
const checkPeriodMs = 60_000

/**
 * Compares another clock with the midpoint of the call. The other clock is read at some point during the call, so the
 * error is at most half of the round trip.
 */
export async function measureOffset(readOtherMs: () => Promise<number>, now = Date.now): Promise<ClockOffset> {
  const before = now()
  const otherMs = await readOtherMs()
  const after = now()
  return { offsetMs: Math.round((before + after) / 2 - otherMs), errorMs: Math.ceil((after - before) / 2) }
}

export function measureClockOffset(db: Db, now = Date.now): Promise<ClockOffset> {
  return measureOffset(() => readDatabaseClock(db), now)
}

/** Subtracts the possible error, so that a slow call alone does not make a clock `off`. */
export function isOff({ offsetMs, errorMs }: ClockOffset): boolean {
  return Math.abs(offsetMs) - errorMs > toleranceMs
}

export function describeOffset(offsetMs: number): string {
  const seconds = (Math.abs(offsetMs) / 1_000).toFixed(1)
  const direction = offsetMs > 0 ? 'ahead of' : 'behind'
  return `The clock of this process is ${seconds} s ${direction} the database's; ids and timestamps will be wrong`
}

export interface ClockWatch {
  /** Measures the offset and logs a change between `ok` and `off`. `unknown` if the database is unavailable. */
  read(): Promise<Clock>
  /** Reads immediately and every minute. The timer does not keep the process alive. */
  start(): void
  stop(): void
}

interface WatchOptions {
  db: Db
  log: Record<'warn' | 'info', (details: object, message: string) => void>
  now?: (() => number) | undefined
  timeoutMs?: number
}

export function watchClock({ db, log, now = Date.now, timeoutMs }: WatchOptions): ClockWatch {
  let wasOff = false
  let timer: NodeJS.Timeout | undefined
  async function read(): Promise<Clock> {
    const measured = await withTimeout(measureClockOffset(db, now), timeoutMs).catch(() => undefined)
    if (!measured) return { status: 'unknown', offsetMs: null }
    // An offset within the error may be no offset at all.
    const offsetMs = Math.abs(measured.offsetMs) <= measured.errorMs ? 0 : measured.offsetMs
    const isOffNow = isOff(measured)
    if (isOffNow && !wasOff) log.warn({ offsetMs }, describeOffset(offsetMs))
    if (!isOffNow && wasOff) log.info({ offsetMs }, "The clock of this process matches the database's again")
    wasOff = isOffNow
    return { status: isOffNow ? 'off' : 'ok', offsetMs }
  }
  return {
    read,
    start() {
      void read()
      timer ??= setInterval(() => void read(), checkPeriodMs).unref()
    },
    stop: () => clearInterval(timer),
  }
}
