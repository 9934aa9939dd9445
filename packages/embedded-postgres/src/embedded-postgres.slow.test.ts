import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { ensureDatabase, startEmbeddedPostgres } from './embedded-postgres.ts'
import type { EmbeddedPostgres } from './embedded-postgres.ts'
import { ensureOwnedDatabase } from './owned-database.ts'

const started = new Set<EmbeddedPostgres>()
const directories: string[] = []
/** Most tests share one cluster, as creating a cluster is slow. */
let directory: string
const isRoot = process.getuid?.() === 0

beforeAll(async () => {
  directory = await makeDirectory()
})
afterEach(async () => {
  for (const postgres of started) await postgres.stop()
  started.clear()
})
afterAll(async () => {
  for (const path of directories) await rm(path, { recursive: true, force: true })
})

test('data survives a restart, and stop can be called twice', async () => {
  const first = await start(directory)
  await ensureDatabase(first, 'shop "one"')
  await query(first, 'shop "one"', 'create table kept as select 1 as value')
  await first.stop()
  await first.stop()

  const second = await start(directory)
  await ensureDatabase(second, 'shop "one"')
  expect(await query(second, 'shop "one"', 'select value from kept')).toEqual([{ value: 1 }])
})

test('replaces a server that a killed process left running', async () => {
  const left = await start(directory)
  const second = await start(directory)
  await expect(query(left, 'postgres', 'select 1')).rejects.toThrow('ECONNREFUSED')
  expect(await query(second, 'postgres', 'select 1 as value')).toEqual([{ value: 1 }])
})

test('data survives kill -9, and a stale pid file does not prevent the next start', async () => {
  const first = await startEmbeddedPostgres({ directory, durable: true })
  await query(first, 'postgres', 'create table survived as select 1 as value')
  const pidFile = await readFile(join(directory, 'data', 'postmaster.pid'), 'utf8')
  process.kill(Number(pidFile.split('\n')[0]), 'SIGKILL')

  const second = await start(directory)
  expect(await query(second, 'postgres', 'select value from survived')).toEqual([{ value: 1 }])
})

test('does not stop another process that reuses the pid of a killed server', async () => {
  const first = await start(directory)
  const pidFile = join(directory, 'data', 'postmaster.pid')
  const written = await readFile(pidFile, 'utf8')
  await first.stop()
  await writeFile(pidFile, written.replace(/^\d+/, String(process.pid)))

  const second = await start(directory)
  expect(await query(second, 'postgres', 'select 1 as value')).toEqual([{ value: 1 }])
})

test('creates an incomplete cluster again', async () => {
  const fresh = await makeDirectory()
  await mkdir(join(fresh, 'data.new'))
  await writeFile(join(fresh, 'data.new', 'PG_VERSION'), '18\n')
  expect(await query(await start(fresh), 'postgres', 'select 1 as value')).toEqual([{ value: 1 }])
})

test("a failed start reports PostgreSQL's own error message", async () => {
  const starting = startEmbeddedPostgres({ directory, durable: false, settings: { no_such_setting: 'on' } })
  await expect(starting).rejects.toThrow('unrecognized configuration parameter "no_such_setting"')
})

test('the value of a setting may contain any character', async () => {
  const name = `it's "$HOME" \\ ; here`
  const postgres = await start(directory, { application_name: name })
  expect(
    await query(postgres, 'postgres', `select reset_val from pg_settings where name = 'application_name'`),
  ).toEqual([{ reset_val: name }])
})

test('non-ASCII letters have upper and lower case, and trigrams', async () => {
  const postgres = await start(directory)
  await query(postgres, 'postgres', 'create extension pg_trgm')
  expect(await query(postgres, 'postgres', `select lower('ÉÀ') as low, similarity('Иван', 'иван') as alike`)).toEqual([
    { low: 'éà', alike: 1 },
  ])
})

test.skipIf(!isRoot)('as root, starts with data in a folder that is closed to other users (needs root)', async () => {
  const parent = await makeDirectory()
  await chmod(parent, 0o700)
  const postgres = await start(join(parent, 'inner'))
  expect(await query(postgres, 'postgres', 'select 1 as value')).toEqual([{ value: 1 }])
  await postgres.stop()
  expect(await query(await start(join(parent, 'inner')), 'postgres', 'select 1 as value')).toEqual([{ value: 1 }])
})

test('rejects a connection without a password', async () => {
  const postgres = await start(directory)
  const url = new URL(postgres.url('postgres'))
  for (const password of ['', 'wrong']) {
    url.password = password
    await expect(connect(url.href)).rejects.toThrow(/password/)
  }
})

test('only the account of the server can read the password and the access rules', async () => {
  await start(directory)
  for (const name of ['superuser-password', 'pg_hba.conf']) {
    const { mode, uid } = await stat(join(directory, 'data', name))
    expect(mode & 0o777).toBe(0o600)
    expect(uid).toBe((await stat(join(directory, 'data'))).uid)
  }
})

test('the role of a database owns it, and cannot run programs or read files', async () => {
  const postgres = await start(directory)
  const owned = { database: 'owned', role: 'application', password: "it's secret" }
  await ensureOwnedDatabase(postgres, owned)
  await ensureOwnedDatabase(postgres, owned)
  const run = (sql: string) => queryAs(postgres, owned, sql)
  await run('create extension pg_trgm; create schema own; create table own.things (id int)')
  for (const sql of [
    "copy own.things to program 'id'",
    "copy own.things from '/etc/passwd'",
    "select pg_read_file('/etc/passwd')",
    'create role another superuser',
    'alter role application superuser',
    'set role rapport',
    'create extension file_fdw',
  ])
    await expect(run(sql)).rejects.toThrow(/permission denied/)
})

async function start(directory: string, settings: Record<string, string> = {}): Promise<EmbeddedPostgres> {
  const postgres = await startEmbeddedPostgres({ directory, durable: false, settings })
  started.add(postgres)
  return postgres
}

async function makeDirectory(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'rapport-postgres-test-'))
  directories.push(path)
  return path
}

function query(postgres: EmbeddedPostgres, database: string, sql: string): Promise<unknown[]> {
  return queryUrl(postgres.url(encodeURIComponent(database)), sql)
}

function queryAs(
  postgres: EmbeddedPostgres,
  { database, role, password }: { database: string; role: string; password: string },
  sql: string,
): Promise<unknown[]> {
  const url = new URL(postgres.url(database))
  Object.assign(url, { username: role, password: encodeURIComponent(password) })
  return queryUrl(url.href, sql)
}

async function queryUrl(url: string, sql: string): Promise<unknown[]> {
  const client = await connect(url)
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows
  } finally {
    await client.end()
  }
}

async function connect(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  return client
}
