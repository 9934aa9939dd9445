/**
 * An import against a bare COPY of the same rows into a table with the same indexes, in one run, with the peak memory of
 * both processes. `node apps/bench/src/import.ts [rows]`, on DATABASE_URL (a server that may be filled), else on a PostgreSQL of its own.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { createFirstWorkspace } from '@rapport/core/auth/first-workspace.ts'
import { inheritedEnvironment } from '@rapport/core/config.ts'
import { ensureDatabase, startEmbeddedPostgres } from '@rapport/core/embedded-postgres.ts'
import { migrate } from '@rapport/core/migrate.ts'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'

interface Import {
  id: string
  status: string
  processed: number
  created: number
  failed: number
}

const counts = process.argv.length > 2 ? process.argv.slice(2).map(Number) : [100_000, 1_000_000]
const port = 23_457
const address = `http://127.0.0.1:${port}`

const database = await openServer()
const processes: ChildProcess[] = []
try {
  const environment = {
    DATABASE_URL: database.url,
    PORT: String(port),
    PUBLIC_URL: address,
    MAIL_FROM: 'bench@example.com',
    SMTP_URL: 'smtp://127.0.0.1:9',
    SECRET_KEY: 'for measuring only, forty characters or more',
    LOG_LEVEL: 'warn',
  }
  const start = (app: 'api' | 'worker') => {
    const script = resolve(import.meta.dirname, `../../${app}/src/main.ts`)
    const child = spawn(process.execPath, [...process.execArgv, script], {
      stdio: ['ignore', 'inherit', 'inherit'],
      env: environment,
    })
    processes.push(child)
    return child
  }
  const api = start('api')
  await waitForApi()
  for (const count of counts) {
    // One of its own each time, so that its peak is of this import.
    const worker = start('worker')
    await compare(count, { api, worker })
    await end(worker)
  }
} finally {
  await Promise.all(processes.map(end))
  await database.close()
}

async function end(child: ChildProcess) {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill()
  await new Promise((resolveExit) => child.once('exit', resolveExit))
}

async function compare(count: number, { api, worker }: { api: ChildProcess; worker: ChildProcess }) {
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  const bareMs = await copyBare(client, count)
  const { apiKey } = await createFirstWorkspace(database.url)
  await fetch(`${address}/custom-fields`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ key: 'plan', label: 'Plan', type: 'TEXT' }),
  })
  await client.query('truncate contacts cascade')
  await client.query('checkpoint')

  const startedAt = performance.now()
  const response = await fetch(`${address}/contacts/import`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'text/csv' },
    body: Readable.toWeb(Readable.from(csv(count))),
    duplex: 'half',
  })
  if (response.status !== 202) throw new Error(await response.text())
  const { id } = (await response.json()) as Import
  const uploadMs = performance.now() - startedAt
  const end = await waitForEnd(apiKey, id)
  const totalMs = performance.now() - startedAt
  if (end.created !== count) throw new Error(JSON.stringify(end))

  console.log(`${count.toLocaleString('en')} rows`)
  console.log(`  bare COPY  ${seconds(bareMs)}, ${perSecond(count, bareMs)}`)
  console.log(`  import     ${seconds(totalMs)}, ${perSecond(count, totalMs)} (upload ${seconds(uploadMs)})`)
  console.log(`  ratio      ${(totalMs / bareMs).toFixed(2)}`)
  console.log(`  peak RSS   worker ${await peakMemory(worker)} MB, api ${await peakMemory(api)} MB`)
  await client.end()
}

/** The same rows, ready to be copied, into a table with the same columns and indexes. */
async function copyBare(client: pg.Client, count: number): Promise<number> {
  await client.query('drop table if exists bare_contacts')
  await client.query('create table bare_contacts (like contacts including all)')
  await client.query('checkpoint')
  const workspaceId = '01890a5d-ac96-774b-bcce-b302099a8057'
  const columns = 'workspace_id, id, email, first_name, last_name, phone, company, tags, source, custom_field_values'
  const startedAt = performance.now()
  await pipeline(
    Readable.from(copyLines(count, workspaceId)),
    client.query(copyFrom(`copy bare_contacts (${columns}) from stdin`)),
  )
  const tookMs = performance.now() - startedAt
  await client.query('drop table bare_contacts')
  return tookMs
}

interface Person {
  email: string
  first: string
  last: string
  phone: string
  company: string
  tags: string[]
  plan: string
}

/** People with names of many syllables, the same in every run. */
function* people(count: number): Generator<Person> {
  const syllables = 'ka ro mi ten sal vo ber lin an da gu sto pe tra li no wer fis ha jo'.split(' ')
  let state = 42
  const random = (below: number) => (state = (state * 1_103_515_245 + 12_345) % 2_147_483_648) % below
  const word = (length: number) => Array.from({ length }, () => syllables[random(20)]).join('')
  for (let index = 0; index < count; index += 1) {
    const [first, last] = [word(2 + random(2)), word(2 + random(3))]
    yield {
      email: `${first}.${last}${index}@${word(3)}.example`,
      first,
      last,
      phone: `+49 30 ${1_000_000 + random(8_999_999)}`,
      company: `${word(3)} ${word(2)}`,
      tags: [`group ${random(10)}`, `region ${random(50)}`],
      plan: ['free', 'pro', 'team'][random(3)] ?? '',
    }
  }
}

function* copyLines(count: number, workspaceId: string): Generator<string> {
  yield* inBlocks(people(count), (person) => {
    const tags = `{${person.tags.map((tag) => `"${tag}"`).join()}}`
    const plan = JSON.stringify({ plan: person.plan })
    const cells = [person.email, person.first, person.last, person.phone, person.company, tags, 'bench', plan]
    return `${workspaceId}\t${crypto.randomUUID()}\t${cells.join('\t')}\n`
  })
}

function* csv(count: number): Generator<Uint8Array> {
  yield Buffer.from('email,First Name,Last Name,phone,company,tags,source,customField.plan\n')
  const lines = inBlocks(people(count), ({ email, first, last, phone, company, tags, plan }) =>
    [email, first, last, phone, `"${company}"`, tags.join(';'), 'bench', plan].join(',').concat('\n'),
  )
  for (const block of lines) yield Buffer.from(block)
}

function* inBlocks(people: Iterable<Person>, toLine: (person: Person) => string): Generator<string> {
  let block = ''
  for (const person of people) {
    block += toLine(person)
    if (block.length < 65_536) continue
    yield block
    block = ''
  }
  yield block
}

async function openServer(): Promise<{ url: string; close(): Promise<void> }> {
  const given = inheritedEnvironment()['DATABASE_URL']
  if (given) {
    await migrate(given)
    return { url: given, close: async () => {} }
  }
  const directory = await mkdtemp(join(tmpdir(), 'rapport-bench-'))
  const postgres = await startEmbeddedPostgres({ directory, durable: true })
  await ensureDatabase(postgres, 'bench')
  await migrate(postgres.url('bench'))
  return {
    url: postgres.url('bench'),
    async close() {
      await postgres.stop()
      await rm(directory, { recursive: true })
    },
  }
}

async function waitForApi() {
  for (let tries = 0; tries < 200; tries += 1) {
    const isReady = await fetch(`${address}/ready`).then(
      (response) => response.ok,
      () => false,
    )
    if (isReady) return
    await sleep(50)
  }
  throw new Error('The API did not start')
}

async function waitForEnd(key: string, id: string): Promise<Import> {
  for (;;) {
    const response = await fetch(`${address}/imports/${id}`, { headers: { authorization: `Bearer ${key}` } })
    const record = (await response.json()) as Import
    if (record.status === 'COMPLETED' || record.status === 'FAILED') return record
    await sleep(record.processed > 200_000 ? 2_000 : 700)
  }
}

async function peakMemory({ pid }: ChildProcess): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024)
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}

function perSecond(count: number, ms: number): string {
  return `${Math.round((count / ms) * 1000).toLocaleString('en')} rows/s`
}
