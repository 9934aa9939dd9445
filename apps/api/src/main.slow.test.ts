/** The API as a process: startup, configuration errors and shutdown. */
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { readApiConfig } from '@rapport/core/runtime/config.ts'
import { version } from '@rapport/core/runtime/version.ts'
import {
  createTestDatabase,
  openTransaction,
  type TestDatabase,
  waitUntilBlocked,
} from '@rapport/testing/postgres/database.ts'
import { findFreePort } from '@rapport/embedded-postgres/free-port.ts'
import { startProcess, type StartedProcess } from '@rapport/testing/processes/processes.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { apiScript, startApiProcess } from '../test/api-process.ts'
import { freshEmail, startTestApi, testEnvironment, type TestApi, type TestWorkspace } from '../test/testing.ts'

let database: TestDatabase
let api: TestApi
let workspace: TestWorkspace
/** Started early because it takes a while; a later test checks the result. */
let stalled: ReturnType<typeof stopWithStalledClients>
beforeAll(async () => {
  database = await createTestDatabase()
  api = await startTestApi({ database })
  workspace = await api.signUp()
  stalled = stopWithStalledClients()
  // The test reports a failure when it awaits the result.
  stalled.catch(() => {})
})
afterAll(() => api.close())

const run = (env: Record<string, string>) => startProcess({ script: apiScript, env })
const start = (environment?: Record<string, string>) => startApiProcess(database.url, environment)

interface Reply {
  status: number
  body: string
  connection: string | undefined
}
/** Uses a new connection by default; an `agent` keeps connections open. */
function call(url: string, options: { method?: string; body?: unknown; agent?: Agent } = {}): Promise<Reply> {
  const { method = 'GET', body, agent = new Agent({ keepAlive: false }) } = options
  const headers = {
    authorization: `Bearer ${workspace.key}`,
    ...(body !== undefined && { 'content-type': 'application/json' }),
  }
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { method, headers, agent }, (response) => {
      const {
        statusCode: status = 0,
        headers: { connection },
      } = response
      text(response).then((responseBody) => resolve({ status, body: responseBody, connection }), reject)
    })
    outgoing.once('error', reject)
    outgoing.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

/** Starts a request that waits for a lock, and runs until the lock is released. */
async function createSlowly(url: string) {
  const lockHolder = await openTransaction(database.db, (transaction) =>
    transaction.execute('lock table events in exclusive mode'),
  )
  onTestFinished(() => lockHolder.commit())
  const email = freshEmail()
  const response = call(`${url}/contacts`, { method: 'POST', body: { email } })
  // The test checks whether the request succeeds.
  response.catch(() => {})
  await waitUntilBlocked(database.db)
  return { response, email, release: () => lockHolder.commit() }
}

async function endOf(main: StartedProcess) {
  const startedAt = performance.now()
  return { ...(await main.exited), tookMs: performance.now() - startedAt }
}

const isRefused = (url: string) =>
  call(`${url}/health`).then(
    () => false,
    (error: unknown) => (error as NodeJS.ErrnoException).code === 'ECONNREFUSED',
  )

test('an invalid configuration exits with 78 and names each variable, without values', async () => {
  const wrong = {
    DATABASE_URL: 'mysql://hidden@localhost/db',
    REDIS_URL: 'http://hidden',
    LOG_LEVEL: 'hidden',
    PORT: '70000',
    PUBLIC_URL: 'ftp://hidden',
    SECRET_KEY: 'hidden',
    MAIL_FROM: 'hidden',
    TRUST_PROXY: 'true',
    CORS_ORIGINS: 'hidden',
    WEBHOOK_ALLOWED_NETWORKS: '10.0.0.0/8,300.0.0.0/8',
    DASHBOARD_PASSWORD: 'hidden',
  }
  const main = await run(wrong)
  expect(await main.exited).toEqual({ code: 78, signal: null })
  const lines = main.stderr().trim().split('\n')
  expect(lines[0]).toBe('Invalid configuration:')
  const named = lines.slice(1).map((line) => /^ {2}(\w+): \S/.exec(line)?.[1] ?? line)
  expect(named.toSorted()).toEqual(Object.keys(wrong).toSorted())
  expect(main.stderr()).not.toMatch(/hidden|\bat \S+ \(|node_modules/)
  expect(main.stdout()).toBe('')
})

test('an empty variable counts as missing; SECRET_KEY rejects example values', () => {
  const namedIn = (environment: Record<string, string>) => {
    try {
      readApiConfig(environment)
      return []
    } catch (error) {
      return [...String(error).matchAll(/^ {2}(\w+):/gm)].map(([, name = '']) => name)
    }
  }
  const good = testEnvironment(database.url)
  expect(namedIn(good)).toEqual([])
  const required = ['DATABASE_URL', 'PUBLIC_URL', 'SECRET_KEY', 'MAIL_FROM']
  expect(namedIn({ SECRET_KEY: '', PORT: '', REDIS_URL: '' })).toEqual(required)
  for (const example of ['change-me-to-32-random-characters-or-more', 'SECRET'.repeat(9), 'x'.repeat(31)]) {
    expect(namedIn({ ...good, SECRET_KEY: example })).toEqual(['SECRET_KEY'])
  }
  for (const trust of ['true', '1', '*', '10.0.0.0/8,all', '10.0.0.0/33']) {
    expect(namedIn({ ...good, TRUST_PROXY: trust })).toEqual(['TRUST_PROXY'])
  }
})

test('starts without PostgreSQL and Redis, is not ready, and exits cleanly', async () => {
  const port = await findFreePort()
  const { main, url } = await start({
    DATABASE_URL: `postgres://postgres@127.0.0.1:${port}/nowhere`,
    REDIS_URL: `redis://127.0.0.1:${port}`,
  })
  expect(await call(`${url}/health`)).toMatchObject({ status: 200 })
  expect(await call(`${url}/ready`)).toMatchObject({
    status: 503,
    body:
      '{"status":"unavailable","parts":{"database":"down","redis":"down","server":"up"},' +
      `"problem":"the connection is refused","clock":{"status":"unknown","offsetMs":null},"version":"${version}"}`,
  })
  main.kill('SIGINT')
  expect(await endOf(main)).toMatchObject({ code: 0, signal: null })
})

test('with a wrong password, the log and /ready say at once why nothing is served', async () => {
  const wrong = new URL(database.url)
  // A cluster of tests asks for no password, and knows its users.
  wrong.username = 'missing_role'
  wrong.password = 'not-the-password'
  const { main, url } = await start({ DATABASE_URL: wrong.href })
  const ready = await call(`${url}/ready`)
  expect(ready.status).toBe(503)
  expect(JSON.parse(ready.body)).toMatchObject({
    parts: { database: 'down' },
    problem: expect.stringMatching(/password/),
  })
  const line = main
    .stdout()
    .split('\n')
    .find((text) => text.includes('PostgreSQL unavailable; retrying'))
  expect(line).toMatch(/password authentication failed|role \\?"missing_role\\?" does not exist/)
  expect(main.stdout() + main.stderr() + ready.body).not.toContain(wrong.password)
  main.kill('SIGINT')
  expect(await endOf(main)).toMatchObject({ code: 0, signal: null })
})

test('exits immediately if the port is in use', async () => {
  const { port } = await api.listen()
  const main = await run({ ...testEnvironment(database.url), PORT: String(port) })
  expect(await main.exited).toEqual({ code: 1, signal: null })
  expect(main.stderr()).toContain(`Port ${port} is already in use`)
})

test('after SIGTERM, finishes running requests, accepts no new ones and exits with 0', async () => {
  const { main, url } = await start()
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  await call(`${url}/health`, { agent })
  const halfSent = await sendHalf(url)
  const { response, email, release } = await createSlowly(url)

  main.kill('SIGTERM')
  await waitUntil(() => isRefused(url), { describe: 'new connections are refused' })
  expect(main.isRunning).toBe(true)
  expect(await halfSent.finish()).toMatch(
    /^HTTP\/1\.1 503 .*\r\nConnection: close\r\n.*"status":"unavailable".*"server":"shutting down"/s,
  )
  await release()
  expect(await response).toMatchObject({ status: 201, connection: 'close' })
  const end = await endOf(main)
  expect(end).toMatchObject({ code: 0, signal: null })
  // An idle connection does not delay the exit; a client that never finishes its request does.
  expect(end.tookMs).toBeLessThan((await stalled).tookMs)
  agent.destroy()
  expect(await api.query('select email from contacts where email = $1', [email])).toEqual([{ email }])
  expect(main.stderr()).toBe('')
})

test('a second signal exits immediately, even with running requests', async () => {
  const { main, url } = await start()
  const { response, release } = await createSlowly(url)
  main.kill('SIGTERM')
  await waitUntil(() => isRefused(url), { describe: 'the first signal was received' })
  main.kill('SIGTERM')
  // The request is still waiting for its lock.
  expect(await main.exited).toEqual({ code: 1, signal: null })
  await expect(response).rejects.toThrow()
  await release()
})

test('unfinished requests delay the exit by no more than the request timeout', async () => {
  const { tookMs, ...end } = await stalled
  expect(end).toEqual({ code: 0, signal: null })
  expect(tookMs).toBeGreaterThan(8_000)
})

async function stopWithStalledClients() {
  const { main, url } = await start()
  const login =
    'POST /auth/login HTTP/1.1\r\nhost: rapport\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{'
  const clients = [await sendHalf(url), await sendHalf(url, login), await sendHalf(url, '')]
  // Makes sure that the server has received the bytes sent above.
  await call(`${url}/health`)
  main.kill('SIGTERM')
  // The process exits while its clients are still connected.
  const end = await endOf(main)
  for (const client of clients) client.socket.destroy()
  return end
}

/** Sends an incomplete request (default: incomplete headers), which keeps its connection in use. */
async function sendHalf(url: string, bytes = 'GET /ready HTTP/1.1\r\nhost: rapport\r\n') {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  await new Promise((resolve) => socket.once('connect', resolve))
  socket.on('error', () => {})
  socket.write(bytes)
  return {
    socket,
    finish() {
      socket.write('\r\n')
      return text(socket)
    },
  }
}

test('during the shutdown delay, serves requests but is not ready', async () => {
  const { main, url } = await start({ SHUTDOWN_DELAY_MS: '3000' })
  const agent = new Agent({ keepAlive: true })
  onTestFinished(() => agent.destroy())
  await waitUntil(async () => (await call(`${url}/ready`, { agent })).status === 200, { describe: 'the API is ready' })
  expect(await call(`${url}/contacts`, { agent })).toMatchObject({ status: 200, connection: 'keep-alive' })
  main.kill('SIGTERM')
  await waitUntil(async () => (await call(`${url}/ready`, { agent })).status === 503, {
    describe: 'the API is not ready',
  })
  // On an open connection, and on a new one.
  expect(await call(`${url}/contacts`, { agent })).toMatchObject({ status: 200, connection: 'close' })
  const created = await call(`${url}/contacts`, { method: 'POST', body: { email: freshEmail() } })
  expect(created).toMatchObject({ status: 201, connection: 'close' })
  expect(await main.exited).toEqual({ code: 0, signal: null })
})

test('a second signal ends the shutdown delay', async () => {
  const { main, url } = await start({ SHUTDOWN_DELAY_MS: '60000' })
  main.kill('SIGTERM')
  await waitUntil(async () => (await call(`${url}/ready`)).status === 503, { describe: 'the API is not ready' })
  main.kill('SIGTERM')
  expect(await main.exited).toEqual({ code: 1, signal: null })
})
