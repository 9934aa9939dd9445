/** The schema of a form as every visitor asks for it, against a bare Fastify route that has the same bytes in memory. */
import { type ChildProcess, spawn } from 'node:child_process'
import { connect, type Socket } from 'node:net'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createFirstWorkspace } from '@rapport/core/auth/first-workspace.ts'
import { startEmbeddedPostgres, ensureDatabase } from '@rapport/core/embedded-postgres.ts'
import { migrate } from '@rapport/core/migrate.ts'
import { findRedisServer } from '@rapport/core/testing/redis-binary.ts'

const rounds = Number(process.argv[2] ?? 9)
const roundMs = 2_000
const connections = 20
const ports = { api: 23_466, bare: 23_467, redis: 23_468 }
const processes: ChildProcess[] = []
let clients = 0

const directory = await mkdtemp(join(tmpdir(), 'rapport-bench-'))
const postgres = await startEmbeddedPostgres({ directory, durable: true })
try {
  start(await findRedisServer(), [
    '--port',
    String(ports.redis),
    '--bind',
    '127.0.0.1',
    '--save',
    '',
    '--appendonly',
    'no',
    '--dir',
    directory,
  ])
  await ensureDatabase(postgres, 'bench')
  const url = postgres.url('bench')
  await migrate(url)
  const { apiKey } = await createFirstWorkspace(url)
  const api = start(process.execPath, [...process.execArgv, resolve(import.meta.dirname, '../../api/src/main.ts')], {
    environment: {
      DATABASE_URL: url,
      REDIS_URL: `redis://127.0.0.1:${ports.redis}`,
      PORT: String(ports.api),
      PUBLIC_URL: `http://127.0.0.1:${ports.api}`,
      MAIL_FROM: 'bench@example.com',
      SECRET_KEY: 'for measuring only, forty characters or more',
      TRUST_PROXY: 'loopback',
      LOG_LEVEL: 'warn',
    },
  })
  await waitFor(ports.api, '/ready')
  const path = `/public/forms/${await createForm(apiKey)}`
  const bytes = await (await fetch(`http://127.0.0.1:${ports.api}${path}`)).text()
  const bare = startBare(path, bytes)
  await waitFor(ports.bare, path)
  await compare(path, { pid: api.pid, port: ports.api }, { pid: bare.pid, port: ports.bare })
} finally {
  for (const started of processes) started.kill()
  await postgres.stop()
  await rm(directory, { recursive: true })
}

function start(
  command: string,
  parameters: string[],
  more: { environment?: Record<string, string>; cwd?: string } = {},
) {
  const { environment = {}, cwd = directory } = more
  const stdio = ['ignore', 'ignore', 'inherit'] as ['ignore', 'ignore', 'inherit']
  const started = spawn(command, parameters, { cwd, stdio, env: { PATH: '/usr/bin:/bin', ...environment } })
  processes.push(started)
  return started
}

/** Fastify with nothing besides, as text: only the API may import it. */
function startBare(path: string, bytes: string) {
  const program = `
    import Fastify from 'fastify'
    const app = Fastify()
    app.get('${path}', (_request, reply) => reply.type('application/json; charset=utf-8').send(${JSON.stringify(bytes)}))
    await app.listen({ host: '127.0.0.1', port: ${ports.bare} })`
  const parameters = ['--input-type=module', '--eval', program]
  return start(process.execPath, parameters, { cwd: resolve(import.meta.dirname, '../../api') })
}

async function createForm(key: string): Promise<string> {
  const fields = [
    { label: 'First name', type: 'TEXT', mapsTo: 'firstName' },
    { label: 'Email', type: 'EMAIL', required: true, mapsTo: 'email' },
    { label: 'Topic', type: 'SELECT', options: ['Sales', 'Support', 'Something else'] },
    { label: 'Your message', type: 'TEXTAREA' },
    { label: 'Send me the monthly letter. I can leave at any time.', type: 'CONSENT' },
  ]
  const response = await fetch(`http://127.0.0.1:${ports.api}/forms`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Contact us', fields }),
  })
  return ((await response.json()) as { id: string }).id
}

async function waitFor(port: number, path: string) {
  for (let tries = 0; tries < 400; tries += 1) {
    const isThere = await fetch(`http://127.0.0.1:${port}${path}`).then(
      (response) => response.ok,
      () => false,
    )
    if (isThere) return
    await sleep(50)
  }
  throw new Error(`Nothing answers on port ${port}`)
}

interface Server {
  pid: number | undefined
  port: number
}

async function compare(path: string, ...servers: [api: Server, bare: Server]) {
  // Until both are compiled.
  for (const server of servers) await measure(server, path)
  const [api, bare]: Measurement[][] = [[], []]
  for (let round = 0; round < rounds; round += 1) {
    api?.push(await measure(servers[0], path))
    bare?.push(await measure(servers[1], path))
  }
  const [rates, costs] = (['rate', 'cost'] as const).map((figure) =>
    [api, bare].map((all = []) => all.map((one) => one[figure])),
  )
  report('GET /public/forms/{id}, requests a second', rates)
  report('processor time of the process, microseconds a request', costs)
}

function report(what: string, [ours = [], bare = []]: number[][] = []) {
  const ratio = median(ours.map((value, round) => value / (bare[round] ?? 0)))
  console.log(`${what}: ${median(ours).toFixed(0)}, bare route ${median(bare).toFixed(0)}, ratio ${ratio.toFixed(2)}`)
}

interface Measurement {
  /** Requests a second. */
  rate: number
  /** Microseconds of processor time for each: what is left of a rate when others want the processor, too. */
  cost: number
}

/** Each connection asks again as soon as it is answered. */
async function measure({ pid, port }: Server, path: string): Promise<Measurement> {
  const [startedAt, spent] = [performance.now(), await processorMs(pid)]
  const counts = Array.from({ length: connections }, () =>
    askUntil(startedAt + roundMs, connect(port, '127.0.0.1'), path),
  )
  const answered = (await Promise.all(counts)).reduce((sum, count) => sum + count, 0)
  const rate = (answered / (performance.now() - startedAt)) * 1_000
  return { rate, cost: (((await processorMs(pid)) - spent) / answered) * 1_000 }
}

/** Of Linux, which counts in hundredths of a second. */
async function processorMs(pid: number | undefined): Promise<number> {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).replace(/^.*\) /, '').split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}

/** Bare sockets: whoever measures takes as little of the processor as can be. */
function askUntil(endsAt: number, socket: Socket, path: string): Promise<number> {
  return new Promise((finish, fail) => {
    let [answered, received] = [0, '']
    function ask() {
      // From ever new clients, few requests each, as the limit counts by client.
      clients += 1
      const client = `10.${(clients >> 18) & 255}.${(clients >> 10) & 255}.${(clients >> 2) & 255}`
      socket.write(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${ports.api}\r\nx-forwarded-for: ${client}\r\n\r\n`)
    }
    socket.setEncoding('latin1')
    socket.on('connect', ask)
    socket.on('error', fail)
    socket.on('data', (chunk) => {
      received += String(chunk)
      const headEnd = received.indexOf('\r\n\r\n')
      const length = headEnd < 0 ? undefined : /\r\ncontent-length: (\d+)/i.exec(received)?.[1]
      if (length === undefined || received.length < headEnd + 4 + Number(length)) return
      if (!received.startsWith('HTTP/1.1 200 ')) return fail(new Error(received))
      ;[answered, received] = [answered + 1, '']
      if (performance.now() < endsAt) return ask()
      socket.destroy()
      finish(answered)
    })
  })
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}
