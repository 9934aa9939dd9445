/**
 * `POST /deals` beside `POST /contacts`, and each move of a deal beside a change of a contact, in rounds that take turns:
 * requests a second, medians. `node apps/bench/src/deals.ts [rounds]`, on a PostgreSQL of its own.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { Agent, type IncomingMessage, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { json } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { createFirstWorkspace } from '@rapport/core/auth/first-workspace.ts'
import { ensureDatabase, startEmbeddedPostgres } from '@rapport/core/embedded-postgres.ts'
import { migrate } from '@rapport/core/migrate.ts'

interface Json extends Record<string, unknown> {
  id: string
}

const rounds = Number(process.argv[2] ?? 15)
const perRound = 500
const connections = 16
const port = 23_458
const agent = new Agent({ keepAlive: true, maxSockets: connections })
let calls = 0

const directory = await mkdtemp(join(tmpdir(), 'rapport-bench-'))
const postgres = await startEmbeddedPostgres({ directory, durable: true })
let api: ChildProcess | undefined
try {
  await ensureDatabase(postgres, 'bench')
  const url = postgres.url('bench')
  await migrate(url)
  const { apiKey } = await createFirstWorkspace(url)
  api = startApi(url)
  await waitForApi(apiKey)
  await compare(apiKey)
} finally {
  api?.kill()
  if (api) await once(api, 'exit')
  agent.destroy()
  await postgres.stop()
  await rm(directory, { recursive: true })
}

async function compare(key: string) {
  const { data } = (await call(key, 'GET /pipelines')) as unknown as { data: (Json & { stages: Json[] })[] }
  const [pipeline] = data
  if (!pipeline) throw new Error('There is no pipeline')
  const contactIds: string[] = []
  const dealIds: string[] = []
  const work: Record<string, (n: number) => Promise<unknown>> = {
    'POST /contacts': async (n) => {
      const made = await call(key, 'POST /contacts', {
        email: `p${n}@example.com`,
        firstName: 'Ada',
        lastName: 'L.',
      })
      contactIds.push(made.id)
    },
    'POST /deals': async (n) => {
      const contactId = contactIds[n % contactIds.length]
      const deal = { pipelineId: pipeline.id, contactId, name: `Deal ${n}`, valueCents: n }
      dealIds.push((await call(key, 'POST /deals', deal)).id)
    },
    'PATCH /contacts/{id}': (n) =>
      call(key, `PATCH /contacts/${contactIds[n % contactIds.length]}`, { company: `Company ${n}` }),
    'PATCH /deals/{id} (another stage)': (n) => {
      const stage = pipeline.stages[Math.floor(n / dealIds.length + n) % pipeline.stages.length]
      return call(key, `PATCH /deals/${dealIds[n % dealIds.length]}`, { stageId: stage?.id })
    },
  }
  const rates = new Map(Object.keys(work).map((name) => [name, [] as number[]]))
  // The first round warms up and is not counted.
  for (let round = 0; round <= rounds; round += 1) {
    for (const [name, once] of Object.entries(work)) {
      const rate = await measure(round * perRound, once)
      if (round > 0) rates.get(name)?.push(rate)
    }
  }
  const median = (name: string) => medianOf(rates.get(name) ?? [])
  for (const name of rates.keys()) console.log(`${name.padEnd(36)}${median(name).toFixed(0)} /s`)
  const ratio = (name: string, to: string) => console.log(`${name} : ${to} = ${(median(name) / median(to)).toFixed(2)}`)
  ratio('POST /deals', 'POST /contacts')
  ratio('PATCH /deals/{id} (another stage)', 'PATCH /contacts/{id}')
}

/** Closed loop: each connection sends its next request when it has the last answer. Answers requests a second. */
async function measure(from: number, once: (n: number) => Promise<unknown>): Promise<number> {
  let next = from
  const startedAt = performance.now()
  const client = async () => {
    while (next < from + perRound) {
      next += 1
      await once(next)
    }
  }
  await Promise.all(Array.from({ length: connections }, client))
  return perRound / ((performance.now() - startedAt) / 1000)
}

/** From so many addresses that the limits, which stay on, are never met. */
async function call(key: string, route: `${string} /${string}`, body?: object): Promise<Json> {
  const [method = '', path = ''] = route.split(' ')
  calls += 1
  const address = Math.floor(calls / 50)
  const outgoing = request(`http://127.0.0.1:${port}${path}`, {
    agent,
    method,
    headers: {
      authorization: `Bearer ${key}`,
      'x-forwarded-for': `10.${(address >> 16) & 255}.${(address >> 8) & 255}.${address & 255}`,
      ...(body && { 'content-type': 'application/json' }),
    },
  })
  outgoing.end(body && JSON.stringify(body))
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
  const answer = (await json(response)) as Json
  if ((response.statusCode ?? 0) >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`)
  return answer
}

function startApi(databaseUrl: string): ChildProcess {
  return spawn(process.execPath, [resolve(import.meta.dirname, '../../api/src/main.ts')], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: {
      PATH: '/usr/bin:/bin',
      DATABASE_URL: databaseUrl,
      PORT: String(port),
      PUBLIC_URL: `http://127.0.0.1:${port}`,
      MAIL_FROM: 'bench@example.com',
      SECRET_KEY: 'for measuring only, forty characters or more',
      TRUST_PROXY: 'loopback',
      LOG_LEVEL: 'warn',
    },
  })
}

async function waitForApi(key: string) {
  for (let tries = 0; tries < 200; tries += 1) {
    const isReady = await call(key, 'GET /ready').then(
      () => true,
      () => false,
    )
    if (isReady) return
    await sleep(50)
  }
  throw new Error('The API did not start')
}

function medianOf(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}
