/** Contacts at a thousand and at a million, side by side: listings, filters, search, and the export against a bare COPY. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { get, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { createFirstWorkspace } from '@rapport/core/auth/first-workspace.ts'
import { startEmbeddedPostgres, ensureDatabase } from '@rapport/core/embedded-postgres.ts'
import { uuidOf } from '@rapport/core/ids.ts'
import { migrate } from '@rapport/core/migrate.ts'
import pg from 'pg'
import { to as copyTo } from 'pg-copy-streams'

const large = Number(process.argv[2] ?? 1_000_000)
const small = 1_000
const rounds = 15
let calls = 0
const port = 23_456
const api = `http://127.0.0.1:${port}`

const directory = await mkdtemp(join(tmpdir(), 'rapport-bench-'))
const postgres = await startEmbeddedPostgres({ directory, durable: true })
let server: ChildProcess | undefined
try {
  await ensureDatabase(postgres, 'bench')
  const url = postgres.url('bench')
  await migrate(url)
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  const [few, many] = [await fill(client, url, small), await fill(client, url, large)]
  await client.query('vacuum analyze')
  server = spawn(process.execPath, [resolve(import.meta.dirname, '../../api/src/main.ts')], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: {
      PATH: '/usr/bin:/bin',
      DATABASE_URL: url,
      PORT: String(port),
      PUBLIC_URL: api,
      MAIL_FROM: 'bench@example.com',
      SECRET_KEY: 'for measuring only, forty characters or more',
      TRUST_PROXY: 'loopback',
      LOG_LEVEL: 'warn',
    },
  })
  await waitForApi()
  await compareListings(few, many)
  await compareExports(client, many)
  await client.end()
} finally {
  server?.kill()
  await postgres.stop()
  await rm(directory, { recursive: true })
}

interface Workspace {
  key: string
  workspaceId: string
}

async function fill(client: pg.Client, url: string, count: number): Promise<Workspace> {
  const { workspaceId, apiKey } = await createFirstWorkspace(url)
  const uuid = uuidOf(workspaceId)
  await client.query(
    `insert into custom_fields (workspace_id, id, key, label, type) values ($1, uuidv7(), 'city', 'City', 'TEXT')`,
    [uuid],
  )
  await client.query(
    `insert into contacts (workspace_id, id, email, first_name, last_name, company, tags, custom_field_values, created_at)
     select $1, uuidv7(), 'person' || n || '@' || (array['example.com', 'mail.test', 'post.test'])[1 + n % 3],
       (array['Ada','Grace','Alan','Edsger','Barbara','Donald','Frances','John','Margaret','Niklaus'])[1 + n % 10],
       initcap(substr(md5(n::text), 1, 7)), 'Company ' || n % 5000,
       case when n % 100 = 0 then array['vip', 'all'] else array['all'] end,
       jsonb_build_object('city', 'City ' || n % 100), now() - n * interval '1 second'
     from generate_series(1, $2::int) n`,
    [uuid, count],
  )
  return { key: apiKey, workspaceId: uuid }
}

async function waitForApi() {
  for (let tries = 0; tries < 200; tries += 1) {
    const ready = await fetch(`${api}/ready`).then(
      (response) => response.ok,
      () => false,
    )
    if (ready) return
    await sleep(50)
  }
  throw new Error('The API did not start')
}

async function timeCall({ key }: Workspace, path: string): Promise<number> {
  calls += 1
  const startedAt = performance.now()
  const response = await fetch(api + path, {
    headers: { authorization: `Bearer ${key}`, 'x-forwarded-for': `10.0.${(calls >> 8) & 255}.${calls & 255}` },
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${path}: ${text}`)
  return performance.now() - startedAt
}

async function deepCursor(workspace: Workspace, pages: number): Promise<string> {
  let cursor = ''
  for (let page = 0; page < pages; page += 1) {
    calls += 1
    const response = await fetch(`${api}/contacts?limit=100${cursor}`, {
      headers: {
        authorization: `Bearer ${workspace.key}`,
        'x-forwarded-for': `10.1.${(calls >> 8) & 255}.${calls & 255}`,
      },
    })
    const { nextCursor } = (await response.json()) as { nextCursor: string }
    cursor = `&cursor=${nextCursor}`
  }
  return cursor
}

async function compareListings(few: Workspace, many: Workspace) {
  const deepFew = await deepCursor(few, 5)
  const deepMany = await deepCursor(many, Math.min(2_000, large / 200))
  const cases: [string, string, string][] = [
    [
      'a page deep in the listing',
      `/contacts?limit=50${deepFew.replace('limit=100', '')}`,
      `/contacts?limit=50${deepMany}`,
    ],
    ['filter by tag (1 %)', '/contacts?tag=vip', '/contacts?tag=vip'],
    ['filter by tag (all)', '/contacts?tag=all', '/contacts?tag=all'],
    ['filter by custom field (1 %)', '/contacts?customField.city=City%207', '/contacts?customField.city=City%207'],
    ['search, one match', '/contacts?search=person77%40', '/contacts?search=person77%40'],
    ['search, a typo', '/contacts?search=compny%20777', '/contacts?search=compny%20777'],
    ['search, a first name (10 %)', '/contacts?search=grace', '/contacts?search=grace'],
    ['search, everyone', '/contacts?search=person', '/contacts?search=person'],
  ]
  console.log(`| listing | ${small} contacts, ms | ${large} contacts, ms | ratio |\n|---|---|---|---|`)
  for (const [name, pathFew, pathMany] of cases) {
    const times: [number[], number[]] = [[], []]
    for (let round = 0; round < rounds; round += 1) {
      times[0].push(await timeCall(few, pathFew))
      times[1].push(await timeCall(many, pathMany))
    }
    const [a, b] = times.map(median) as [number, number]
    console.log(`| ${name} | ${a.toFixed(1)} | ${b.toFixed(1)} | ${(b / a).toFixed(1)} |`)
  }
}

async function compareExports(client: pg.Client, many: Workspace) {
  const quiet = percentile99(await latencies(many, () => false, 200))
  console.log(`API's memory before the exports: ${await memory('VmRSS')} MB`)
  for (const format of ['csv', 'ndjson']) {
    const bare = await timed(async () => {
      const rows = client.query(
        copyTo(`copy (select * from contacts where workspace_id = '${many.workspaceId}') to stdout csv`),
      )
      await pipeline(rows, devNull())
    })
    let done = false
    const others = latencies(many, () => done)
    const ours = await timed(async () => {
      // Not fetch, whose streams would keep this process, which measures the others' times, busy itself.
      const headers = { authorization: `Bearer ${many.key}` }
      const response = await new Promise<IncomingMessage>((resolveResponse, reject) =>
        get(`${api}/contacts/export?format=${format}`, { headers }, resolveResponse).once('error', reject),
      )
      await pipeline(response, devNull())
    })
    done = true
    const p99 = percentile99(await others)
    console.log(
      `export ${format}: ${ours.toFixed(0)} ms, bare COPY ${bare.toFixed(0)} ms, ratio ${(ours / bare).toFixed(1)}; ` +
        `other requests p99 ${p99.toFixed(1)} ms, quiet p99 ${quiet.toFixed(1)} ms; API's peak memory ${await memory('VmHWM')} MB`,
    )
  }
}

async function latencies(workspace: Workspace, isDone: () => boolean, most = Number.POSITIVE_INFINITY) {
  const times: number[] = []
  while (!isDone() && times.length < most) {
    times.push(await timeCall(workspace, '/auth/me'))
    await sleep(20)
  }
  return times
}

async function memory(what: 'VmRSS' | 'VmHWM'): Promise<number> {
  const status = await readFile(`/proc/${server?.pid}/status`, 'utf8')
  return Math.round(Number(new RegExp(`${what}:\\s+(\\d+)`).exec(status)?.[1]) / 1024)
}

async function timed(work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}

function devNull() {
  return new Writable({ write: (_chunk, _encoding, done) => done() })
}

function percentile99(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.99)] ?? 0
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}
