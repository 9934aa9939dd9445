import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { goodCertificate, testKey } from '@rapport/testing/network/certificates.ts'
import { type ReceiverResponse, type HttpReceiver, startHttpReceiver } from '@rapport/testing/network/receivers.ts'
import { chooseSeed, createRandom } from '@rapport/testing/runs.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { startRestartablePostgres } from './restartable-postgres.ts'
import { countOpenWork, queueBackends, type Stack, startStack } from './stack.ts'
import { expectConsistentDeliveries, startWriting } from './write-stream.ts'

const maxInFlight = 50

let stack: Stack
let key: string
let receiver: HttpReceiver
beforeEach(async () => {
  receiver = await startHttpReceiver()
})
afterEach(async () => {
  await stack.close()
  await receiver.close()
})

async function setUp(starting: Promise<Stack>) {
  stack = await starting
  ;({ key } = await stack.api.createWorkspace())
}

async function addWebhook(url: string) {
  const added = await stack.api.call('POST', '/webhooks', { key, body: { url, eventTypes: ['contact.created'] } })
  expect(added.status).toBe(201)
}

const seed = chooseSeed(20_261_125)

describe.each(queueBackends)('with the queues in %s', (backend) => {
  test(`every delivery is accounted for if worker, API or Redis crash (seed ${seed})`, async () => {
    await setUp(startStack(backend))
    for (const path of ['/a', '/b']) await addWebhook(receiver.url + path)
    const random = createRandom(seed)
    const stream = startWriting(stack, key)
    const faults = [killWorker, killApi, ...(stack.redis ? [emptyRedis, crashRedis, freezeRedis] : [])]
    let kills = 0
    // Each fault once, in random order.
    for (const fault of faults.toSorted(() => random() - 0.5)) {
      await pause(200 + random() * 600)
      await fault()
      if (fault === killWorker) kills += 1
    }
    await pause(200)
    await stream.stop()
    expect(stream.acknowledged.length).toBeGreaterThan(20)
    const interrupted = await expectConsistentDeliveries(stack, {
      acknowledged: stream.acknowledged,
      webhooks: 2,
      receiver,
    })
    expect(interrupted).toBeLessThanOrEqual(kills * maxInFlight)
  })

  test('every delivery is accounted for if PostgreSQL restarts, and no process exits', async () => {
    const server = await startRestartablePostgres()
    await setUp(startStack(backend, {}, { database: server.database }))
    await addWebhook(`${receiver.url}/a`)
    const stream = startWriting(stack, key)
    await receiver.waitFor(5, 10_000)
    await server.restart()
    await waitUntil(async () => (await stack.api.call('GET', '/ready')).status === 200, {
      describe: 'the API is ready',
    })
    await receiver.waitFor(receiver.requests.length + 5, 20_000)
    await stream.stop()
    await expectConsistentDeliveries(stack, { acknowledged: stream.acknowledged, webhooks: 1, receiver })
    expect([...stack.apis, ...stack.workers].map(({ isRunning }) => isRunning)).toEqual([true, true])
  })

  test('every delivery is accounted for if a frozen worker resumes after recovery', async () => {
    await setUp(startStack(backend))
    await addWebhook(`${receiver.url}/a`)
    const [frozen] = stack.workers
    const stream = startWriting(stack, key)
    await receiver.waitFor(20, 10_000)
    frozen?.kill('SIGSTOP')
    try {
      await stack.startWorker()
      await waitUntil(async () => (await stack.database.pool.query('select from workers')).rowCount === 1, {
        describe: 'the frozen worker is deregistered',
        timeoutMs: 60_000,
      })
    } finally {
      frozen?.kill('SIGCONT')
    }
    await receiver.waitFor(receiver.requests.length + 20, 20_000)
    await stream.stop()
    // Requests in flight timed out while the worker was frozen.
    const others = ['INTERRUPTED', 'FAILED']
    const inFlight = await expectConsistentDeliveries(stack, {
      acknowledged: stream.acknowledged,
      webhooks: 1,
      receiver,
      others,
    })
    expect(inFlight).toBeLessThanOrEqual(maxInFlight)
    expect(frozen?.isRunning).toBe(true)
  })

  async function killWorker() {
    stack.workers.at(-1)?.kill('SIGKILL')
    await stack.startWorker()
  }

  async function killApi() {
    const api = stack.apis.at(-1)
    api?.kill('SIGKILL')
    await api?.exited
    await stack.startApi()
  }

  const emptyRedis = async () => stack.redis?.flush()

  async function crashRedis() {
    await stack.redis?.stop()
    await pause(300)
    await stack.redis?.start()
  }

  async function freezeRedis() {
    stack.redis?.pause()
    await pause(300)
    stack.redis?.resume()
  }
})

test('a misbehaving receiver gets one attempt per delivery and delays no other', async () => {
  await setUp(startStack('redis'))
  const trap = await startHttpReceiver()
  const misbehaving = await Promise.all(
    createBadResponses(trap.url).map((response) => startHttpReceiver(() => response)),
  )
  const untrusted = createServer({ key: testKey, cert: goodCertificate }, (_request, response) => response.end())
  await new Promise<void>((resolve) => untrusted.listen(0, '127.0.0.1', resolve))
  for (const { url } of misbehaving) await addWebhook(url)
  await addWebhook(`https://127.0.0.1:${(untrusted.address() as AddressInfo).port}/`)
  await addWebhook(receiver.url)
  for (let n = 0; n < 3; n++) {
    await stack.api.call('POST', '/contacts', { key, body: { email: `person${n}@example.com` } })
  }
  await receiver.waitFor(3)
  // The first request to the receiver that does not respond has not timed out yet.
  expect(misbehaving[0]?.requests.length).toBeLessThanOrEqual(1)
  await waitUntil(async () => (await countOpenWork(stack)) === 0, {
    describe: 'all attempts have ended',
    // A receiver that does not respond gets one request at a time, which times out after three seconds.
    timeoutMs: 60_000,
  })
  expect([...misbehaving, receiver, trap].map(({ requests }) => requests.length)).toEqual([
    ...misbehaving.map(() => 3),
    3,
    0,
  ])
  const { rows } = await stack.database.pool.query(
    `select error, response_status as status, count(*)::int from deliveries group by 1, 2 order by 1, 2`,
  )
  expect(rows).toEqual([
    { error: 'No response within 3 seconds', status: null, count: 3 },
    { error: 'Redirects are not followed', status: 307, count: 3 },
    { error: 'The TLS certificate was rejected (DEPTH_ZERO_SELF_SIGNED_CERT)', status: null, count: 3 },
    { error: expect.stringMatching(/^The connection failed/), status: null, count: 3 },
    // A response with status 200 is a success, whatever its body is.
    { error: null, status: 200, count: 9 },
  ])
  await Promise.all([...misbehaving, trap].map((other) => other.close()))
  untrusted.closeAllConnections()
  await new Promise((resolve) => untrusted.close(resolve))
})

function createBadResponses(redirectUrl: string): ReceiverResponse[] {
  async function* trickle() {
    for (;;) {
      yield '.'
      await pause(200)
    }
  }
  async function* flood() {
    for (let sent = 0; sent < 1_000_000_000; sent += 65_536) yield Buffer.alloc(65_536, 'x')
  }
  return [
    { fault: 'hang' },
    { body: trickle() },
    { body: flood() },
    { status: 307, headers: { location: redirectUrl } },
    { fault: 'disconnect' },
  ]
}
