import { request as send } from 'node:https'
import { setTimeout as pause } from 'node:timers/promises'
import { findFreePort } from '@rapport/embedded-postgres/free-port.ts'
import { goodCertificate } from '@rapport/testing/network/certificates.ts'
import {
  findReverseProxy,
  type ReverseProxy,
  type ReverseProxyName,
  startReverseProxy,
} from '@rapport/testing/network/reverse-proxy.ts'
import { startProcess, type StartedProcess } from '@rapport/testing/processes/processes.ts'
import { isFullRun } from '@rapport/testing/runs.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Stack, startStack, timeoutMs } from './stack.ts'

/** A moderate load leaves processor time for the processes that start. Most requests are a TLS handshake. */
const pauseMs = isFullRun ? 20 : 200

const [nginx, caddy] = [await findReverseProxy('nginx'), await findReverseProxy('caddy')]

interface Call {
  key?: string
  method?: string
  body?: string
  type?: string
  headers?: Record<string, string>
  /** The address of the client. */
  from?: string
}

function call(url: string, { key, method = 'GET', body, type = 'application/json', headers, from }: Call = {}) {
  return new Promise<{ status: number; headers: Record<string, unknown>; body: string }>((resolve, reject) => {
    const options = {
      method,
      ca: goodCertificate,
      ...(from !== undefined && { localAddress: from }),
      headers: {
        ...(key && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && { 'content-type': type, 'content-length': Buffer.byteLength(body) }),
        ...headers,
      },
    }
    const outgoing = send(url, options, (response) => {
      const toResult = (chunks: Buffer[]) => ({
        status: response.statusCode ?? 0,
        headers: response.headers,
        body: Buffer.concat(chunks).toString(),
      })
      response.toArray().then((chunks) => resolve(toResult(chunks as Buffer[])), reject)
    })
    outgoing.on('error', reject).end(body)
  })
}

let stack: Stack
let secondPort: number
beforeAll(async () => {
  // As in the examples of ops: longer than the interval of Caddy's health checks.
  stack = await startStack('redis', { SHUTDOWN_DELAY_MS: '5000' })
  secondPort = await findFreePort()
  const [first] = stack.apis
  if (first) running.set(firstPort(), first)
  await startApi(secondPort)
})
const firstPort = () => Number(new URL(stack.api.url).port)
afterAll(() => stack.close())

/** The process of each port. */
const running = new Map<number, StartedProcess>()

async function startApi(port: number): Promise<void> {
  const env = { ...stack.env, PORT: String(port) }
  const readyUrl = `http://127.0.0.1:${port}/ready`
  const started = await startProcess({ script: 'apps/api/src/main.ts', env, readyUrl, timeoutMs })
  running.set(port, started)
  stack.apis.push(started)
}

async function restartApi(port: number): Promise<void> {
  running.get(port)?.kill('SIGTERM')
  await running.get(port)?.exited
  await startApi(port)
}

// Skipped where the program is not installed, and Debian packages cannot be unpacked.
describe.skipIf(nginx === undefined)('nginx', () => {
  testProxy('nginx', nginx ?? '')
})
describe.skipIf(caddy === undefined)('caddy', () => {
  testProxy('caddy', caddy ?? '')
})

function testProxy(name: ReverseProxyName, program: string) {
  let proxy: ReverseProxy
  let key: string
  beforeAll(async () => {
    proxy = await startReverseProxy(name, { program, apiPorts: [firstPort(), secondPort] })
    const isServing = async () => (await call(`${proxy.url}/ready`)).status === 200
    await waitUntil(isServing, { describe: 'the proxy has found an API', timeoutMs })
    ;({ key } = await stack.api.createWorkspace())
  })
  afterAll(() => proxy.close())

  test('HTTP is redirected to HTTPS, and metrics are not public', async () => {
    const redirect = await fetch(`${proxy.plainUrl}/docs`, { redirect: 'manual' })
    expect([redirect.status, redirect.headers.get('location')]).toEqual([308, 'https://127.0.0.1/docs'])
    const page = await call(`${proxy.url}/docs/`)
    expect(page).toMatchObject({ status: 200, headers: { 'strict-transport-security': 'max-age=63072000' } })
    expect((await call(`${proxy.url}/metrics`)).status).toBe(404)
  })

  test('the API counts by the address of the client, and ignores a forged one', async () => {
    // Each proxy has other clients, as the API counts by the minute.
    const [client, other] = name === 'nginx' ? ['127.0.0.2', '127.0.0.3'] : ['127.0.0.4', '127.0.0.5']
    const remaining = async (from: string, forged: string) => {
      const headers = { 'x-forwarded-for': forged }
      const response = await call(`${proxy.url}/lists`, { key, from, headers })
      return Number(response.headers['x-ratelimit-remaining'])
    }
    const first = await remaining(client, '203.0.113.1')
    expect(await remaining(client, '203.0.113.2')).toBe(first - 1)
    expect(await remaining(client, other)).toBe(first - 2)
    expect(await remaining(other, client)).toBe(first)
  })

  test('the access log has the paths of unsubscribe requests', async () => {
    await call(`${proxy.url}/public/unsubscribe?token=from-a-link`, { method: 'POST' })
    const isLogged = async () => (await proxy.readAccessLog()).includes('/public/unsubscribe?token=from-a-link')
    expect(await waitUntil(isLogged, { describe: 'the request is logged', timeoutMs })).toBe(true)
  })

  test('an import and an export of several megabytes pass', async () => {
    const rows = 1_600
    const field = JSON.stringify({ key: 'story', label: 'Story', type: 'TEXT' })
    expect((await call(`${proxy.url}/custom-fields`, { key, method: 'POST', body: field })).status).toBe(201)
    const lines = Array.from({ length: rows }, (_, index) => `person${index}@example.com,${'Ada '.repeat(499)}`)
    const csv = ['email,story', ...lines].join('\n')
    expect(csv.length).toBeGreaterThan(3e6)
    const accepted = await call(`${proxy.url}/contacts/import`, { key, method: 'POST', body: csv, type: 'text/csv' })
    expect(accepted.status).toBe(202)
    const { id } = JSON.parse(accepted.body) as { id: string }
    const padded = `email\nblocked@example.com\n${' '.repeat(6e6)}`
    const suppressed = await call(`${proxy.url}/suppressions/import?reason=MANUAL`, {
      key,
      method: 'POST',
      body: padded,
      type: 'text/csv',
    })
    expect(suppressed.status).toBe(202)
    // Not through the proxy, where so many requests reach a limit.
    const readStatus = async () =>
      (await stack.api.call<{ status: string }>('GET', `/imports/${id}`, { key })).body.status
    const isDone = async () => (await readStatus()) === 'COMPLETED'
    await waitUntil(isDone, { describe: 'the import is complete', timeoutMs })
    const exported = await call(`${proxy.url}/contacts/export?format=csv`, { key })
    expect(exported.body.trimEnd().split('\n')).toHaveLength(rows + 1)
    expect(exported.body.length).toBeGreaterThan(3e6)
  })

  // At the gate, rolling-upgrade has a load balancer with checks, as Caddy has.
  const isChosen = isFullRun || name === 'nginx'
  test.runIf(isChosen)('two APIs that restart one right after the other fail no request', async () => {
    const outcomes: number[] = []
    const over = new AbortController()
    let [sent, repeated] = [0, 0]
    const get = async (from: string) => (await call(`${proxy.url}/contacts`, { key, from })).status
    const post = async (from: string, unique: string) => {
      const headers = { 'idempotency-key': unique }
      const request = { key, from, headers, method: 'POST', body: JSON.stringify({ email: `${unique}@example.com` }) }
      const { status } = await call(`${proxy.url}/contacts`, request)
      // A POST that reaches the port while it closes is not repeated by nginx, but by its clients, as the SDK does.
      if (status !== 502 || name !== 'nginx') return status
      repeated += 1
      return (await call(`${proxy.url}/contacts`, request)).status
    }
    const client = async (number: number) => {
      while (!over.signal.aborted) {
        sent += 1
        // Other addresses, so that no request reaches a limit.
        const from = `127.0.${1 + (sent % 200)}.${1 + number}`
        outcomes.push(sent % 2 ? await post(from, `shutdown${sent}`) : await get(from))
        await pause(pauseMs)
      }
    }
    const clients = Promise.all(Array.from({ length: 4 }, (_, number) => client(number)))
    await waitUntil(() => outcomes.length > 50, { describe: 'requests are answered', timeoutMs })
    for (const port of [firstPort(), secondPort]) {
      await restartApi(port)
      // As docs/deployment.md says: Caddy checks every two seconds, and nginx has no checks.
      if (name === 'caddy') await pause(3_000)
    }
    const before = outcomes.length
    await waitUntil(() => outcomes.length > before + 50, { describe: 'both APIs respond', timeoutMs })
    over.abort()
    await clients
    expect(outcomes.filter((status) => status !== 200 && status !== 201)).toEqual([])
    // At most one for each client and port that closes.
    expect(repeated).toBeLessThanOrEqual(8)
  })
}
