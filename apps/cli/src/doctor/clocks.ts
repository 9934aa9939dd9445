import { type ClockOffset, describeOffset, isOff, measureOffset } from '@rapport/core/db/clock-offset.ts'
import { readDatabaseClock } from '@rapport/core/db/database-facts.ts'
import { type Check, findingsAbout, type Finding } from './finding.ts'
import { askRedis } from './redis.ts'

const { ok, warn, fail } = findingsAbout('Clocks')
const [tolerableMs, grossMs] = [2_000, 60_000]

export const clocksCheck = createClocksCheck()

/** `now` is the clock of this process. */
export function createClocksCheck(now = Date.now): Check {
  return {
    about: 'Clocks',
    async run({ database, config: { REDIS_URL } }) {
      const found = await Promise.all([
        database && checkDatabase(() => readDatabaseClock(database.db), now),
        // That it is away is for its own check to say.
        REDIS_URL && checkRedis(REDIS_URL, now).catch(() => []),
      ])
      return found.flat().filter((finding) => typeof finding === 'object')
    },
  }
}

async function checkDatabase(readClock: () => Promise<number>, now: () => number): Promise<Finding> {
  // The connection is made before the time is taken.
  await readClock()
  const offset = await measureOffset(readClock, now)
  const finding = judge('PostgreSQL', offset)
  return isOff(offset) ? { ...finding, message: describeOffset(offset.offsetMs) } : finding
}

function checkRedis(url: string, now: () => number): Promise<Finding[]> {
  return askRedis(url, async (redis) => {
    const readClock = async () => {
      const [seconds = 0, micros = 0] = (await redis.time()).map(Number)
      return seconds * 1_000 + micros / 1_000
    }
    return judge('Redis', await measureOffset(readClock, now))
  })
}

function judge(whose: string, { offsetMs, errorMs }: ClockOffset): Finding {
  const surelyMs = Math.max(0, Math.abs(offsetMs) - errorMs)
  if (surelyMs < tolerableMs) return ok(`${whose} and this machine agree`)
  const message = `${whose} is ${Math.round(surelyMs / 1_000)} s ${offsetMs < 0 ? 'ahead of' : 'behind'} this machine`
  const advice = 'Run an NTP client on both: receivers refuse webhooks whose timestamp is minutes off.'
  return surelyMs < grossMs ? warn(message, advice) : fail(message, advice)
}
