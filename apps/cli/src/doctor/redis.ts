import { rootMessageOf } from '@rapport/core/kernel/errors.ts'
import { getRedisWarnings, getRedisInfoField } from '@rapport/core/runtime/redis-settings.ts'
import { connectRedis } from '@rapport/core/runtime/redis.ts'
import { Cluster, type Redis } from 'ioredis'
import { type Check, findingsAbout } from './finding.ts'

const { ok, warn, fail } = findingsAbout('Redis')
/** Required by BullMQ. */
const oldestVersion = [6, 2] as const

export const redisCheck: Check = {
  about: 'Redis',
  async run({ config: { REDIS_URL }, invalid }) {
    if (invalid.has('REDIS_URL')) return []
    if (!REDIS_URL) {
      return [ok('not used: the queues are in PostgreSQL, and each API process counts its own rate limits')]
    }
    try {
      const servers = await withRedis(REDIS_URL, (redis) => redis.info())
      return servers.flatMap(checkServer)
    } catch (error) {
      return [
        fail(
          rootMessageOf(error),
          'Check that Redis is running and that REDIS_URL is correct. New work waits in PostgreSQL meanwhile.',
        ),
      ]
    }
  },
}

function checkServer(info: string) {
  const version = getRedisInfoField(info, 'valkey_version') ?? getRedisInfoField(info, 'redis_version') ?? ''
  const [major = 0, minor = 0] = (getRedisInfoField(info, 'redis_version') ?? '').split('.').map(Number)
  const isOld = major < oldestVersion[0] || (major === oldestVersion[0] && minor < oldestVersion[1])
  const failedWrites = ['aof_last_write_status', 'rdb_last_bgsave_status'].filter(
    (name) => getRedisInfoField(info, name) === 'err',
  )
  const findings = [
    ...(isOld ? [fail(`version ${version}`, `The queues need Redis ${oldestVersion.join('.')} or newer.`)] : []),
    ...(getRedisInfoField(info, 'role') === 'slave'
      ? [fail('the server is a replica', 'Set REDIS_URL to the master.')]
      : []),
    ...failedWrites.map((name) =>
      fail(`${name} is err`, 'Redis cannot write to disk. Check its log and the disk space.'),
    ),
    ...checkMemory(info),
    ...getRedisWarnings(info).map((warning) => warn(warning, 'See "Deployment" in README.md.')),
  ]
  return findings.length > 0 ? findings : [ok(`version ${version}, noeviction, append-only file`)]
}

function checkMemory(info: string) {
  const factOf = (name: string) => Number(getRedisInfoField(info, name) ?? 0)
  const limit = factOf('maxmemory')
  // Buffers for the append-only file and for replicas do not count towards maxmemory.
  const used = factOf('used_memory') - factOf('mem_not_counted_for_evict')
  if (limit === 0 || used <= 0.9 * limit) return []
  if (used >= limit && getRedisInfoField(info, 'maxmemory_policy') === 'noeviction') {
    return [
      fail('the memory is full, and Redis rejects writes', 'Raise maxmemory, or run FLUSHALL, which loses no work.'),
    ]
  }
  return [warn('the memory is almost full', 'Raise maxmemory, or find out what uses it.')]
}

/** Runs `work` on the server, or on each master of a cluster. Fails immediately if Redis is unavailable. */
export async function withRedis<Result>(url: string, work: (redis: Redis) => Promise<Result>): Promise<Result[]> {
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
    return await Promise.all((redis instanceof Cluster ? redis.nodes('master') : [redis]).map(work))
  } catch (error) {
    // The connection error says more than "Reached the max retries per request limit".
    throw reason ?? error
  } finally {
    redis.disconnect()
  }
}
