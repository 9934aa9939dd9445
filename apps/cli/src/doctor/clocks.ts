import { readDatabaseClock } from '@rapport/core/db/database-facts.ts'
import { type Check, findingsAbout, type Finding } from './finding.ts'
import { askRedis } from './redis.ts'

const { ok, warn, fail } = findingsAbout('Clocks')
const [tolerableMs, grossMs] = [2_000, 60_000]

/** How far another clock is ahead of ours, give or take half the time that the question took. */
interface Skew {
  whose: string
  aheadMs: number
  unsureMs: number
}

export const clocksCheck: Check = {
  about: 'Clocks',
  async run({ database, config: { REDIS_URL } }) {
    const skews = await Promise.all([
      database &&
        measure('PostgreSQL', async () => {
          // The connection is made before the time is taken.
          await readDatabaseClock(database.db)
          return () => readDatabaseClock(database.db)
        }),
      // That it is away is for its own check to say.
      REDIS_URL &&
        askRedis(REDIS_URL, (redis) =>
          measure('Redis', async () => async () => {
            const [seconds = 0, micros = 0] = (await redis.time()).map(Number)
            return seconds * 1_000 + micros / 1_000
          }),
        ).catch(() => []),
    ])
    const known = skews.flat().filter((skew) => typeof skew === 'object')
    return known.length > 0 ? known.map(judge) : []
  },
}

async function measure(whose: string, prepare: () => Promise<() => Promise<number>>): Promise<Skew> {
  const ask = await prepare()
  const before = Date.now()
  const theirs = await ask()
  const after = Date.now()
  return { whose, aheadMs: theirs - (before + after) / 2, unsureMs: (after - before) / 2 }
}

function judge({ whose, aheadMs, unsureMs }: Skew): Finding {
  const surelyMs = Math.max(0, Math.abs(aheadMs) - unsureMs)
  if (surelyMs < tolerableMs) return ok(`${whose} and this machine agree`)
  const message = `${whose} is ${Math.round(surelyMs / 1_000)} s ${aheadMs > 0 ? 'ahead of' : 'behind'} this machine`
  const advice = 'Run an NTP client on both: receivers refuse webhooks whose timestamp is minutes off.'
  return surelyMs < grossMs ? warn(message, advice) : fail(message, advice)
}
