import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { Id, uuidOf } from '@rapport/core/kernel/ids.ts'
import { goodCertificate, testKey } from '@rapport/testing/network/certificates.ts'
import { type ReceiverResponse, type HttpReceiver, startHttpReceiver } from '@rapport/testing/network/receivers.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startRestartablePostgres } from './restartable-postgres.ts'
import { chooseBackends, countOpenWork, type Stack, startStack } from './stack.ts'
import { expectConsistentDeliveries, startWriting } from './write-stream.ts'

const maxInFlight = 50

let stack: Stack
let key: string
let workspaceId: string
let receiver: HttpReceiver
beforeEach(async () => {
  receiver = await startHttpReceiver()
  return () => receiver.close()
})

async function addWebhook(url: string) {
  const added = await stack.api.call('POST', '/webhooks', { key, body: { url, eventTypes: ['contact.created'] } })
  expect(added.status).toBe(201)
}

// The chaos test kills workers with the queues in Redis.
describe.each(chooseBackends({ gate: 'postgres' }))('with the queues in %s', (backend) => {
  let server: Awaited<ReturnType<typeof startRestartablePostgres>>
  beforeAll(async () => {
    server = await startRestartablePostgres()
    stack = await startStack(backend, {}, { database: server.database })
  })
  afterAll(() => stack.close())
  beforeEach(async () => {
    ;({ key, workspaceId } = await stack.api.createWorkspace())
    await addWebhook(`${receiver.url}/a`)
  })

  test('every delivery is accounted for if PostgreSQL restarts, and no process exits', async () => {
    const stream = startWriting(stack, key)
    await receiver.waitFor(5, 10_000)
    await server.restart()
    await waitUntil(async () => (await stack.api.call('GET', '/ready')).status === 200, {
      describe: 'the API is ready',
    })
    await receiver.waitFor(receiver.requests.length + 5, 20_000)
    await stream.stop()
    await expectConsistentDeliveries(stack, { workspaceId, acknowledged: stream.acknowledged, receiver })
    expect([...stack.apis, ...stack.workers].map(({ isRunning }) => isRunning)).toEqual([true, true])
  })

  test('every delivery is accounted for if a frozen worker resumes after recovery', async () => {
    const [frozen] = stack.workers
    const stream = startWriting(stack, key)
    await receiver.waitFor(20, 30_000)
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
      workspaceId,
      acknowledged: stream.acknowledged,
      receiver,
      others,
    })
    expect(inFlight).toBeLessThanOrEqual(maxInFlight)
    expect(frozen?.isRunning).toBe(true)
  })

  test('a misbehaving receiver gets one attempt per delivery and delays no other', async () => {
    const trap = await startHttpReceiver()
    const misbehaving = await Promise.all(
      createBadResponses(trap.url).map((response) => startHttpReceiver(() => response)),
    )
    const untrusted = createServer({ key: testKey, cert: goodCertificate }, (_request, response) => response.end())
    await new Promise<void>((resolve) => untrusted.listen(0, '127.0.0.1', resolve))
    for (const { url } of misbehaving) await addWebhook(url)
    await addWebhook(`https://127.0.0.1:${(untrusted.address() as AddressInfo).port}/`)
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
      `select error, response_status as status, count(*)::int from deliveries where workspace_id = $1
     group by 1, 2 order by 1, 2`,
      [uuidOf(Id('wsp').parse(workspaceId))],
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
