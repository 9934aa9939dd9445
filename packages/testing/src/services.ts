/** The PostgreSQL and the Redis of a test run. */
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type pg from 'pg'
import { inheritedEnvironment } from '@rapport/core/runtime/config.ts'
import type { PostgresBinaries } from '@rapport/embedded-postgres/binaries.ts'
import { startEmbeddedPostgres } from '@rapport/embedded-postgres/embedded-postgres.ts'
import { migrate } from '@rapport/core/db/migrate.ts'
import { type CitusNode, distributeTemplate } from './postgres/citus.ts'
import { createDataFolder } from './postgres/data-folder.ts'
import { withAdminClient, databaseUrl } from './postgres/database.ts'
import { cachedTemplate, copyTemplateCluster } from './postgres/template-cluster.ts'
import { findRedisServer } from './redis/redis-binary.ts'
import { withRedis, startRedisServer } from './redis/redis.ts'

/** Connection details for test files; the helpers of this package read them. */
export interface TestServices {
  /** The database to connect to when creating others. */
  postgresUrl: string
  /** The servers on which a test database is created: more than one with Citus, the coordinator first. */
  nodeUrls: string[]
  /** The names of all databases of this run start with it. */
  databasePrefix: string
  /** The migrated database that test files clone. */
  template: string
  redisUrl: string
  redisBinary: { path: string } | { missing: string }
  /** Has one file for each process started by tests; its name is the pid. */
  pidDirectory: string
}

declare module 'vitest' {
  interface ProvidedContext {
    testServices: TestServices
  }
}

export interface RunningServices {
  services: TestServices
  stop: () => Promise<void>
}

type Releases = (() => Promise<unknown>)[]

interface ServiceOptions {
  /** The programs of another PostgreSQL than the one from npm. */
  binaries?: PostgresBinaries | undefined
  /** The nodes of a Citus cluster to use instead. */
  nodes?: CitusNode[]
}

/** Starts PostgreSQL and Redis. */
export async function startServices(options: ServiceOptions = {}): Promise<RunningServices> {
  const directory = await createDataFolder('rapport-tests-')
  const [pidDirectory, postgresDirectory] = [join(directory, 'processes'), join(directory, 'postgres')]
  const releases: Releases = []
  const cleanUpNow = () => {
    killProcesses(pidDirectory)
    killPostgres(postgresDirectory)
    rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
  }
  // On Ctrl-C Vitest exits without a teardown; this handler then stops the remaining processes.
  process.once('exit', cleanUpNow)
  const stop = async () => {
    const results = []
    for (const release of releases.toReversed()) results.push(...(await Promise.allSettled([release()])))
    process.off('exit', cleanUpNow)
    cleanUpNow()
    throwFirst(results)
  }
  const starting = [startPostgres(postgresDirectory, releases, options), startRedis(pidDirectory, releases)] as const
  try {
    throwFirst(await Promise.allSettled(starting))
    return { services: { ...(await starting[0]), ...(await starting[1]), pidDirectory }, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function startPostgres(directory: string, releases: Releases, { binaries, nodes }: ServiceOptions) {
  const configuredUrl = nodes?.[0]?.url ?? inheritedEnvironment()['DATABASE_URL']
  const postgresUrl = configuredUrl || (await startOwnPostgres(directory, releases, binaries))
  const nodeUrls = nodes?.map(({ url }) => url) ?? [postgresUrl]
  const databasePrefix = `rapport_test_${randomBytes(4).toString('hex')}_`
  const template = `${databasePrefix}template`
  for (const url of nodeUrls) {
    const from = configuredUrl ? '' : `template ${cachedTemplate}`
    await withAdminClient(url, (client) => client.query(`create database ${template} ${from}`)).catch(
      (cause: unknown) => {
        throw new Error(
          `The tests cannot create a database at DATABASE_URL (${reasonOf(cause)}). Start the server, or unset ` +
            'DATABASE_URL: the tests then start their own PostgreSQL.',
        )
      },
    )
    releases.push(() => withAdminClient(url, (client) => dropDatabases(client, databasePrefix)))
  }
  if (nodes) await distributeTemplate(nodes, template)
  // Also for a copy of the cached template: partitions have to be created every day.
  else await migrate(databaseUrl(postgresUrl, template))
  return { postgresUrl, nodeUrls, databasePrefix, template }
}

async function startOwnPostgres(directory: string, releases: Releases, binaries?: PostgresBinaries): Promise<string> {
  // The cost of plans is too high without statistics, so that PostgreSQL would compile statements that run once.
  const planning = { autovacuum: 'off', jit: 'off' }
  const settings = { max_connections: '300', wal_level: 'minimal', max_wal_senders: '0', ...planning }
  await copyTemplateCluster(directory, binaries)
  const postgres = await startEmbeddedPostgres({ directory, durable: false, settings, ...(binaries && { binaries }) })
  releases.push(() => postgres.stop())
  return postgres.url('postgres')
}

async function startRedis(pidDirectory: string, releases: Releases) {
  const redisUrl = inheritedEnvironment()['REDIS_URL']
  if (!redisUrl) {
    const binary = await findRedisServer()
    const redis = await startRedisServer({ binary, pidDirectory })
    releases.push(() => (redis.process.kill(), redis.process.exited))
    return { redisUrl: redis.url, redisBinary: { path: binary } }
  }
  await withRedis(redisUrl, (redis) => redis.ping()).catch((cause: unknown) => {
    throw new Error(
      `The tests cannot reach the Redis at REDIS_URL (${reasonOf(cause)}). Start it, or unset ` +
        'REDIS_URL: the tests then start their own Redis.',
    )
  })
  // Tests that stop or pause Redis start their own server, even with REDIS_URL.
  const redisBinary = await findRedisServer().then(
    (path) => ({ path }),
    (error: unknown) => ({ missing: reasonOf(error) }),
  )
  return { redisUrl, redisBinary }
}

async function dropDatabases(client: pg.Client, prefix: string): Promise<void> {
  const found = await client.query<{ datname: string }>(
    'select datname from pg_database where starts_with(datname, $1)',
    [prefix],
  )
  for (const { datname } of found.rows) await client.query(`drop database ${datname} with (force)`)
}

/** Kills processes that tests left running, for example because their Vitest worker was killed. */
function killProcesses(pidDirectory: string): void {
  for (const name of existsSync(pidDirectory) ? readdirSync(pidDirectory) : []) kill(Number(name), 'SIGKILL')
}

/** Shuts PostgreSQL down immediately and waits for it, as it still writes to the folder that is removed next. */
function killPostgres(directory: string): void {
  const pidFile = join(directory, 'data', 'postmaster.pid')
  const pid = existsSync(pidFile) ? Number(readFileSync(pidFile, 'utf8').split('\n')[0]) : 0
  if (!(pid > 0) || !kill(pid, 'SIGQUIT')) return
  const clock = new Int32Array(new SharedArrayBuffer(4))
  for (let waitedMs = 0; waitedMs < 5_000 && kill(pid, 0); waitedMs += 20) Atomics.wait(clock, 0, 0, 20)
}

function kill(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}

function throwFirst(results: PromiseSettledResult<unknown>[]): void {
  const failed = results.find((result) => result.status === 'rejected')
  if (failed) throw failed.reason
}

/** If several addresses were tried, only the inner errors have a message. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join(', ')
  return error instanceof Error ? error.message : String(error)
}
