import { z } from 'zod'
import type { Db } from './client.ts'
import { Clock } from './clock-offset.ts'
import { describeDatabaseProblem } from './database-errors.ts'
import { hasPendingMigrations } from './migrate.ts'
import { withTimeout } from '../kernel/concurrency/with-timeout.ts'
import { version } from '../runtime/version.ts'

export const Readiness = z
  .object({
    status: z
      .enum(['ready', 'degraded', 'unavailable'])
      .describe('`degraded`: Redis is unavailable, and requests are accepted. `unavailable`: the response is a 503.'),
    parts: z
      .object({
        database: z.enum(['up', 'down', 'migrations pending']).describe('The state of PostgreSQL.'),
        redis: z.enum(['up', 'down', 'not used']).describe('The state of Redis.'),
        server: z.enum(['up', 'shutting down']).describe('The state of this process.'),
      })
      .describe('The state of each part.'),
    problem: z.string().nullable().describe('Why the database is down; `null` if it is not.'),
    clock: Clock.describe('The clock of this process compared with that of the database.'),
    version: z.string().describe('The version of Rapport.'),
  })
  .meta({ id: 'Readiness', description: 'Whether the process can serve requests.' })
export type Readiness = z.output<typeof Readiness>

type Ping = () => Promise<unknown>

/**
 * Reads the state of each component within three seconds. If Redis is down, the process is `degraded`: it accepts work,
 * which waits in PostgreSQL. `pingRedis` is undefined if Redis is not used. A clock that is off does not change the
 * status: a process that is out of rotation could not serve reads either.
 */
export async function readReadiness(process: {
  db: Db
  pingRedis: Ping | undefined
  readClock: () => Promise<Clock>
  isStopping: boolean
  /** The timeout of each check. */
  timeoutMs?: number
  /** Called with the reason if the database is down. */
  onDown?: (error: Error) => void
}): Promise<Readiness> {
  const [{ database, problem }, redis, clock] = await Promise.all([
    readDatabaseState(process),
    readRedisState(process),
    process.readClock(),
  ])
  const parts = { database, redis, server: process.isStopping ? ('shutting down' as const) : ('up' as const) }
  if (database !== 'up' || process.isStopping) return { status: 'unavailable', parts, problem, clock, version }
  return { status: redis === 'down' ? 'degraded' : 'ready', parts, problem, clock, version }
}

interface DatabaseState {
  database: Readiness['parts']['database']
  problem: string | null
}

async function readDatabaseState(process: {
  db: Db
  timeoutMs?: number
  onDown?: (error: Error) => void
}): Promise<DatabaseState> {
  try {
    const isPending = await withTimeout(hasPendingMigrations(process.db), process.timeoutMs)
    return { database: isPending ? 'migrations pending' : 'up', problem: null }
  } catch (error) {
    process.onDown?.(error as Error)
    return { database: 'down', problem: describeDatabaseProblem(error) }
  }
}

async function readRedisState({ pingRedis, timeoutMs }: { pingRedis: Ping | undefined; timeoutMs?: number }) {
  if (!pingRedis) return 'not used' as const
  return withTimeout(
    pingRedis().then(() => 'up' as const),
    timeoutMs,
  ).catch(() => 'down' as const)
}
