import { setTimeout as pause } from 'node:timers/promises'
import { inspect } from 'node:util'
import { findFreePort } from '@rapport/embedded-postgres/free-port.ts'
import { startProcess } from '@rapport/testing/processes/processes.ts'
import { startHttpReceiver } from '@rapport/testing/network/receivers.ts'
import { countRuns, isFullRun } from '@rapport/testing/runs.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { expect, onTestFinished, test } from 'vitest'
import { addConfirmedSubscribers, readRecipientCounts } from './campaign-recipients.ts'
import { startLoadBalancer } from './load-balancer.ts'
import { chooseBackends, createApi, startStack, timeoutMs } from './stack.ts'
import { expectConsistentDeliveries } from './write-stream.ts'

const recipients = countRuns({ gate: 300, full: 1_000 })
const rounds = countRuns({ gate: 1, full: 3 })
/** A moderate load leaves processor time for the processes that start. */
const pauseMs = isFullRun ? 20 : 200

test.each(chooseBackends({ gate: 'postgres' }))(
  'a rolling restart fails no request and interrupts no work, queues in %s',
  { timeout: 300_000 },
  async (backend) => {
    // Longer than the load balancer needs to detect the shutdown, also on a busy machine.
    const stack = await startStack(backend, { SHUTDOWN_DELAY_MS: '2500' })
    onTestFinished(() => stack.close())
    const receiver = await startHttpReceiver(() => ({ delayMs: 20 }))
    onTestFinished(() => receiver.close())
    const firstPort = Number(new URL(stack.api.url).port)
    const secondPort = await findFreePort()
    const startSecondApi = async () => {
      const env = { ...stack.env, PORT: String(secondPort) }
      const readyUrl = `http://127.0.0.1:${secondPort}/ready`
      const started = await startProcess({ script: 'apps/api/src/main.ts', env, readyUrl, timeoutMs })
      stack.apis.push(started)
      return started
    }
    let [first, second] = [stack.apis[0], await startSecondApi()]
    await stack.startWorker()
    const balancer = await startLoadBalancer([firstPort, secondPort])
    onTestFinished(() => balancer.close())
    const bothReady = () => balancer.isReady(firstPort) && balancer.isReady(secondPort)
    await waitUntil(bothReady, { describe: 'both APIs are ready', timeoutMs })

    const api = createApi(balancer.url)
    const { key, workspaceId } = await api.createWorkspace()
    await api.call('POST', '/webhooks', { key, body: { url: `${receiver.url}/a`, eventTypes: ['contact.created'] } })
    const list = await api.call<{ id: string }>('POST', '/lists', { key, body: { name: 'Everyone' } })
    await addConfirmedSubscribers(stack.database, { workspaceId, listId: list.body.id }, recipients)
    stack.inbox.decide(() => ({ delayMs: 500 }))
    const body = { name: 'News', subject: 'News', listId: list.body.id }
    const campaign = await api.call<{ id: string }>('POST', '/campaigns', { key, body })
    await api.call('POST', `/campaigns/${campaign.body.id}/send`, { key })

    const [acknowledged, unexpected]: [string[], string[]] = [[], []]
    const stopping = new AbortController()
    const request = async (status: number, ...call: Parameters<typeof api.call>) => {
      const response = await api.call<{ id: string }>(...call).catch((error: unknown) => ({ status: 0, body: error }))
      if (response.status !== status)
        unexpected.push(`${call[0]} ${call[1]}: ${response.status} ${inspect(response.body)}`)
      return response.body as { id: string }
    }
    const write = async (writer: number) => {
      for (let n = 0; !stopping.signal.aborted; n++) {
        const { id } = await request(201, 'POST', '/contacts', {
          key,
          body: { email: `writer-${writer}-${n}@example.com` },
        })
        acknowledged.push(id)
        await request(200, 'GET', `/contacts/${id}`, { key })
        await pause(pauseMs)
      }
    }
    const writing = Promise.all([0, 1, 2].map(write))
    onTestFinished(async () => {
      stopping.abort()
      await writing
    })

    const restartWorkers = async () => {
      for (const worker of stack.workers.filter(({ isRunning }) => isRunning)) {
        worker.kill('SIGTERM')
        await stack.startWorker()
        expect(await worker.exited).toEqual({ code: 0, signal: null })
      }
    }
    const restartApis = async () => {
      for (const api of [first, second]) {
        api?.kill('SIGTERM')
        expect(await api?.exited).toEqual({ code: 0, signal: null })
        if (api === first) first = await stack.startApi()
        else second = await startSecondApi()
        await waitUntil(bothReady, { describe: 'the load balancer uses both APIs', timeoutMs })
      }
    }
    for (let round = 0; round < rounds; round++) await Promise.all([restartWorkers(), restartApis()])
    stopping.abort()
    await writing

    expect([...balancer.failures, ...unexpected]).toEqual([])
    expect(acknowledged.length).toBeGreaterThan(50)
    expect(await expectConsistentDeliveries(stack, { workspaceId, acknowledged, receiver })).toBe(0)
    const { rows: unsent } = await stack.database.pool.query(
      `select status, attempts, error from campaign_recipients where status <> 'SENT'`,
    )
    expect(unsent).toEqual([])
    expect(await readRecipientCounts(stack.database, campaign.body.id)).toEqual({
      queued: recipients,
      sent: recipients,
      failed: 0,
      skipped: 0,
      interrupted: 0,
      pending: 0,
    })
  },
)
