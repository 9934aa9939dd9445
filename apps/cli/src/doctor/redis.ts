import { getRedisWarnings, getRedisInfoField } from '@rapport/core/runtime/redis-settings.ts'
import { connectRedis } from '@rapport/core/runtime/redis.ts'
import { Cluster, type Redis } from 'ioredis'
import { type Check, findingsAbout, messageOf } from './finding.ts'

const { ok, warn, fail } = findingsAbout('Redis')
/** What BullMQ asks for. */
const oldestVersion = [6, 2] as const

export const redisCheck: Check = {
  about: 'Redis',
  async run({ config: { REDIS_URL } }) {
    if (!REDIS_URL) {
      return [ok('not used: the queues are in PostgreSQL, and each API process counts limits for itself')]
    }
    try {
      const servers = await askRedis(REDIS_URL, (redis) => redis.info())
      return servers.flatMap(judge)
    } catch (error) {
      return [
        fail(
          messageOf(error),
          'Work is taken in and waits in PostgreSQL meanwhile. See that Redis runs and REDIS_URL is right.',
        ),
      ]
    }
  },
}

function judge(info: string) {
  const version = getRedisInfoField(info, 'valkey_version') ?? getRedisInfoField(info, 'redis_version') ?? ''
  const [major = 0, minor = 0] = (getRedisInfoField(info, 'redis_version') ?? '').split('.').map(Number)
  const isOld = major < oldestVersion[0] || (major === oldestVersion[0] && minor < oldestVersion[1])
  const broken = ['aof_last_write_status', 'rdb_last_bgsave_status'].filter(
    (name) => getRedisInfoField(info, name) === 'err',
  )
  const findings = [
    ...(isOld ? [fail(`version ${version}`, `The queues need ${oldestVersion.join('.')} or newer.`)] : []),
    ...(getRedisInfoField(info, 'role') === 'slave'
      ? [fail('this is a replica', 'REDIS_URL must name the primary.')]
      : []),
    ...broken.map((name) => fail(`${name} is err`, 'It cannot write to its disk: see its log, and make room.')),
    ...judgeMemory(info),
    ...getRedisWarnings(info).map((complaint) => warn(complaint, 'See "In earnest" in README.md.')),
  ]
  return findings.length > 0 ? findings : [ok(`version ${version}, noeviction, append-only file`)]
}

function judgeMemory(info: string) {
  const factOf = (name: string) => Number(getRedisInfoField(info, name) ?? 0)
  const most = factOf('maxmemory')
  // What is on its way to the disk and to replicas does not count towards the limit.
  const used = factOf('used_memory') - factOf('mem_not_counted_for_evict')
  if (most === 0 || used <= 0.9 * most) return []
  if (used >= most && getRedisInfoField(info, 'maxmemory_policy') === 'noeviction') {
    return [fail('is full and refuses writes', 'Raise maxmemory. FLUSHALL loses nothing, where that makes room.')]
  }
  return [warn('the memory is almost full', 'Raise maxmemory, or see what fills it.')]
}

/** Asks a server, or each master of a cluster, over connections of its own; fails at once when there is none. */
export async function askRedis<Answer>(url: string, ask: (redis: Redis) => Promise<Answer>): Promise<Answer[]> {
  const redis = connectRedis(url, {
    connectionName: 'rapport command',
    connectTimeout: 2_500,
    commandTimeout: 2_500,
    maxRetriesPerRequest: 0,
    retryStrategy: () => 60_000,
  })
  let reason: Error | undefined
  redis.on('error', (error: Error) => (reason = error))
  try {
    await redis.ping()
    return await Promise.all((redis instanceof Cluster ? redis.nodes('master') : [redis]).map(ask))
  } catch (error) {
    // "Reached the max retries per request limit" says less than what happened.
    throw reason ?? error
  } finally {
    redis.disconnect()
  }
}
