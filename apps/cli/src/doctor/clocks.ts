import type { Database } from '@rapport/core/db/client.ts'
import { type ClockOffset, describeOffset, isOff, measureOffset } from '@rapport/core/db/clock-offset.ts'
import { listWorkers } from '@rapport/core/work/worker-registry.ts'
import { readDatabaseClock } from '@rapport/core/db/database-facts.ts'
import { type Check, findingsAbout, type Finding } from './finding.ts'
import { withRedis } from './redis.ts'

const { ok, warn, fail } = findingsAbout('Clocks')
const [warnFromMs, failFromMs] = [2_000, 60_000]
/** A heartbeat that waits for a connection makes its clock look late. */
const warnWorkersFromMs = 5_000

export const clocksCheck = createClocksCheck()

/** `now` is the clock of this process. */
export function createClocksCheck(now = Date.now): Check {
  return {
    about: 'Clocks',
    async run({ database, config: { REDIS_URL } }) {
      const found = await Promise.all([
        database && checkDatabase(() => readDatabaseClock(database.db), now),
        // The Redis check reports that Redis is unavailable.
        REDIS_URL && checkRedis(REDIS_URL, now).catch(() => []),
        database && checkWorkers(database),
      ])
      return found.flat().filter((finding) => typeof finding === 'object')
    },
  }
}

async function checkDatabase(readClock: () => Promise<number>, now: () => number): Promise<Finding> {
  // The first query opens the connection, so that the measurement does not include it.
  await readClock()
  const offset = await measureOffset(readClock, now)
  const finding = toFinding('PostgreSQL', offset)
  return isOff(offset) ? { ...finding, message: describeOffset(offset.offsetMs) } : finding
}

/** Workers on other machines record their clock with each heartbeat. */
async function checkWorkers({ db }: Database): Promise<Finding[]> {
  const workers = (await listWorkers(db)).filter(({ isAlive }) => isAlive)
  return workers.flatMap(({ host, clockOffsetMs }) => {
    if (clockOffsetMs === null || Math.abs(clockOffsetMs) < warnWorkersFromMs) return []
    const direction = clockOffsetMs > 0 ? 'ahead of' : 'behind'
    const message = `a worker on ${host} is ${Math.round(Math.abs(clockOffsetMs) / 1_000)} s ${direction} PostgreSQL`
    return [(Math.abs(clockOffsetMs) < failFromMs ? warn : fail)(message, 'Run an NTP client on this machine.')]
  })
}

function checkRedis(url: string, now: () => number): Promise<Finding[]> {
  return withRedis(url, async (redis) => {
    const readClock = async () => {
      const [seconds = 0, micros = 0] = (await redis.time()).map(Number)
      return seconds * 1_000 + micros / 1_000
    }
    return toFinding('Redis', await measureOffset(readClock, now))
  })
}

function toFinding(server: string, { offsetMs, errorMs }: ClockOffset): Finding {
  const minOffsetMs = Math.max(0, Math.abs(offsetMs) - errorMs)
  if (minOffsetMs < warnFromMs) return ok(`${server} and this machine agree`)
  const message = `${server} is ${Math.round(minOffsetMs / 1_000)} s ${offsetMs < 0 ? 'ahead of' : 'behind'} this machine`
  const advice = 'Run an NTP client on both machines. Receivers reject webhooks whose timestamp is minutes off.'
  return minOffsetMs < failFromMs ? warn(message, advice) : fail(message, advice)
}
