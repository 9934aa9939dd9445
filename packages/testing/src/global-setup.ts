/** What Vitest runs before and after all files that need Postgres and Redis: provides both, and leaves nothing behind. */
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { chmod, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type pg from 'pg'
import type { TestProject } from 'vitest/node'
import { inheritedEnvironment } from '@rapport/core/runtime/config.ts'
import { startEmbeddedPostgres } from '@rapport/embedded-postgres/embedded-postgres.ts'
import { migrate } from '@rapport/core/db/migrate.ts'
import { withAdminClient, databaseUrl } from './postgres/database.ts'
import { findRedisServer } from './redis/redis-binary.ts'
import { withRedis, startRedisServer } from './redis/redis.ts'

/** What test files need to know; the helpers beside this file read it. */
export interface TestServices {
  /** A database of the server to make others from. */
  postgresUrl: string
  /** Every database of this run starts with it. */
  databasePrefix: string
  /** The migrated database that test files clone. */
  template: string
  redisUrl: string
  redisBinary: { path: string } | { missing: string }
  /** One file for each process that tests have started, named by its number. */
  pidDirectory: string
}

declare module 'vitest' {
  interface ProvidedContext {
    testServices: TestServices
  }
}

interface Running {
  services: TestServices
  stop(): Promise<void>
}

type Releases = (() => Promise<unknown>)[]

// Vitest calls these once per project and loads this file anew for each.
const shared = globalThis as { rapportTestServices?: { users: number; running: Promise<Running> } | undefined }

export async function setup(project: TestProject): Promise<void> {
  const holder = (shared.rapportTestServices ??= { users: 0, running: startServices() })
  holder.users += 1
  project.provide('testServices', (await holder.running).services)
}

export async function teardown(): Promise<void> {
  const holder = shared.rapportTestServices
  if (!holder || --holder.users > 0) return
  shared.rapportTestServices = undefined
  // What never started was reported then, and has stopped by itself.
  const running = await holder.running.catch(() => undefined)
  await running?.stop()
}

async function startServices(): Promise<Running> {
  const directory = await mkdtemp(join(tmpdir(), 'rapport-tests-'))
  // Postgres runs as another user when we are root.
  await chmod(directory, 0o755)
  const [pidDirectory, postgresDirectory] = [join(directory, 'processes'), join(directory, 'postgres')]
  const releases: Releases = []
  const endAtOnce = () => {
    killProcesses(pidDirectory)
    killPostgres(postgresDirectory)
    rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
  }
  // Vitest exits on Ctrl-C without any teardown: what is left then is ended on the way out.
  process.once('exit', endAtOnce)
  const stop = async () => {
    const results = []
    for (const release of releases.toReversed()) results.push(...(await Promise.allSettled([release()])))
    process.off('exit', endAtOnce)
    endAtOnce()
    throwFirst(results)
  }
  const starting = [startPostgres(postgresDirectory, releases), startRedis(pidDirectory, releases)] as const
  try {
    throwFirst(await Promise.allSettled(starting))
    return { services: { ...(await starting[0]), ...(await starting[1]), pidDirectory }, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function startPostgres(directory: string, releases: Releases) {
  const given = inheritedEnvironment()['DATABASE_URL']
  const postgresUrl = given || (await startOwnPostgres(directory, releases))
  const databasePrefix = `rapport_test_${randomBytes(4).toString('hex')}_`
  const template = `${databasePrefix}template`
  await withAdminClient(postgresUrl, (client) => client.query(`create database ${template}`)).catch(
    (cause: unknown) => {
      throw new Error(
        `The tests cannot make a database at DATABASE_URL (${reasonOf(cause)}). Start the server, for example with ` +
          '"docker compose up -d postgres", or unset DATABASE_URL: the tests then bring a Postgres of their own.',
      )
    },
  )
  releases.push(() => withAdminClient(postgresUrl, (client) => dropDatabases(client, databasePrefix)))
  await migrate(databaseUrl(postgresUrl, template))
  return { postgresUrl, databasePrefix, template }
}

async function startOwnPostgres(directory: string, releases: Releases): Promise<string> {
  const settings = { max_connections: '300', autovacuum: 'off', wal_level: 'minimal', max_wal_senders: '0' }
  const postgres = await startEmbeddedPostgres({ directory, durable: false, settings })
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
      `The tests cannot reach the Redis at REDIS_URL (${reasonOf(cause)}). Start it, for example with ` +
        '"docker compose up -d redis", or unset REDIS_URL: the tests then bring a Redis of their own.',
    )
  })
  // Tests that stop and freeze a Redis need a program even so.
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

/** Ends what tests have started and not ended: their worker may have been killed. */
function killProcesses(pidDirectory: string): void {
  for (const name of existsSync(pidDirectory) ? readdirSync(pidDirectory) : []) kill(Number(name), 'SIGKILL')
}

/** An immediate shutdown, waited for, as the server still writes into the folder that is removed next. */
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

/** A refused connection has an empty message when several addresses were tried. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join(', ')
  return error instanceof Error ? error.message : String(error)
}
