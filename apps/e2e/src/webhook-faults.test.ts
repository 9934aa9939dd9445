import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { goodCertificate, testKey } from '@rapport/testing/network/certificates.ts'
import { type ReceiverResponse, type HttpReceiver, startHttpReceiver } from '@rapport/testing/network/receivers.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { startRestartablePostgres } from './restartable-postgres.ts'
import { countOpenWork, queueBackends, type Stack, startStack } from './stack.ts'
import { expectConsistentDeliveries, startWriting } from './write-stream.ts'

const deliveriesAtOnce = 50

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

async function enter(starting: Promise<Stack>) {
  stack = await starting
  ;({ key } = await stack.api.createWorkspace())
}

async function addWebhook(url: string) {
  const added = await stack.api.call('POST', '/webhooks', { key, body: { url, eventTypes: ['contact.created'] } })
  expect(added.status).toBe(201)
}

/** From 0 to 1; another course of events each time, told when it fails. */
const seed = Math.floor(Math.random() * 2_147_483_646) + 1
function randomFrom(state: number) {
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647
}

describe.each(queueBackends)('with the queues in %s', (backend) => {
  test(`kill -9 of worker and API, and whatever befalls Redis, under a stream of writes: the books balance (seed ${seed})`, async () => {
    await enter(startStack(backend))
    for (const path of ['/a', '/b']) await addWebhook(receiver.url + path)
    const random = randomFrom(seed)
    const stream = startWriting(stack, key)
    const faults = [killWorker, killApi, ...(stack.redis ? [emptyRedis, crashRedis, freezeRedis] : [])]
    let kills = 0
    // Each at least once, in another order each time.
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
    expect(interrupted).toBeLessThanOrEqual(kills * deliveriesAtOnce)
  })

  test('PostgreSQL restarted under a stream of writes: the books balance, and every process has lived on', async () => {
    const server = await startRestartablePostgres()
    await enter(startStack(backend, {}, server.database))
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

  test('receivers that hang, trickle, never end, lead elsewhere, reset or are not who they say: one attempt each, and nobody waits for them', async () => {
    await enter(startStack(backend))
    const trap = await startHttpReceiver()
    const bad = await Promise.all(badAnswers(trap.url).map((answer) => startHttpReceiver(() => answer)))
    const impostor = createServer({ key: testKey, cert: goodCertificate }, (_request, response) => response.end())
    await new Promise<void>((resolve) => impostor.listen(0, '127.0.0.1', resolve))
    for (const { url } of bad) await addWebhook(url)
    await addWebhook(`https://127.0.0.1:${(impostor.address() as AddressInfo).port}/`)
    await addWebhook(receiver.url)
    for (let n = 0; n < 3; n++) {
      await stack.api.call('POST', '/contacts', { key, body: { email: `person${n}@example.com` } })
    }
    // Long before the first of the others is given up.
    await receiver.waitFor(3, 5_000)
    await waitUntil(async () => (await countOpenWork(stack)) === 0, {
      describe: 'all have been given up',
      // A receiver that does not respond gets one request at a time, of ten seconds each.
      timeoutMs: 60_000,
    })
    expect([...bad, receiver, trap].map(({ requests }) => requests.length)).toEqual([...bad.map(() => 3), 3, 0])
    const { rows } = await stack.database.pool.query(
      `select error, response_status as status, count(*)::int from deliveries group by 1, 2 order by 1, 2`,
    )
    expect(rows).toEqual([
      { error: 'No answer within 10 seconds', status: null, count: 3 },
      { error: 'Redirects are not followed', status: 307, count: 3 },
      { error: 'The certificate was not accepted (DEPTH_ZERO_SELF_SIGNED_CERT)', status: null, count: 3 },
      { error: expect.stringMatching(/^The connection failed/), status: null, count: 3 },
      // Those who answered 200 have taken it, whatever they went on to send.
      { error: null, status: 200, count: 9 },
    ])
    await Promise.all([...bad, trap].map((other) => other.close()))
    impostor.closeAllConnections()
    await new Promise((resolve) => impostor.close(resolve))
  })

  test('a worker that is frozen until it is taken for dead, and then goes on: the books balance, and it has lived on', async () => {
    await enter(startStack(backend))
    await addWebhook(`${receiver.url}/a`)
    const [frozen] = stack.workers
    const stream = startWriting(stack, key)
    await receiver.waitFor(20, 10_000)
    frozen?.kill('SIGSTOP')
    try {
      await stack.startWorker()
      await waitUntil(async () => (await stack.database.pool.query('select from workers')).rowCount === 1, {
        describe: 'the frozen one is taken for dead',
        timeoutMs: 60_000,
      })
    } finally {
      frozen?.kill('SIGCONT')
    }
    await receiver.waitFor(receiver.requests.length + 20, 20_000)
    await stream.stop()
    // What it was about to send has had no answer in its ten seconds.
    const others = ['INTERRUPTED', 'FAILED']
    const inHand = await expectConsistentDeliveries(stack, {
      acknowledged: stream.acknowledged,
      webhooks: 1,
      receiver,
      others,
    })
    expect(inHand).toBeLessThanOrEqual(deliveriesAtOnce)
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

function badAnswers(elsewhere: string): ReceiverResponse[] {
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
    { status: 307, headers: { location: elsewhere } },
    { fault: 'disconnect' },
  ]
}
