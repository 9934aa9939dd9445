/** Two APIs behind a load balancer, and a worker (two in a full run), under load: contacts are written, and a campaign is being sent. */
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { inspect } from 'node:util'
import { findFreePort } from '@rapport/embedded-postgres/free-port.ts'
import { type StartedProcess, startProcess } from '@rapport/testing/processes/processes.ts'
import { startHttpReceiver } from '@rapport/testing/network/receivers.ts'
import { countRuns, isFullRun } from '@rapport/testing/runs.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { expect, onTestFinished } from 'vitest'
import { addConfirmedSubscribers, readRecipientCounts } from './campaign-recipients.ts'
import { startLoadBalancer } from './load-balancer.ts'
import { createApi, type QueueBackend, type Stack, startStack, timeoutMs } from './stack.ts'
import { expectConsistentDeliveries } from './write-stream.ts'

const recipients = countRuns({ gate: 300, full: 1_000 })
/** A moderate load leaves processor time for the processes that start. */
const pauseMs = isFullRun ? 20 : 400

export interface RollingLoad {
  stack: Stack
  /** Starts a worker of the release in `directory` (default: this one) for each that runs, and stops the latter. */
  restartWorkers(directory?: string): Promise<void>
  /** Restarts the APIs, or the first `count` of them, one after the other. */
  restartApis(directory?: string, count?: number): Promise<void>
  /** Ends the load. Fails if work was lost, repeated or interrupted. Returns the requests that failed. */
  end(): Promise<string[]>
}

export async function startRollingLoad(backend: QueueBackend): Promise<RollingLoad> {
  // Longer than the load balancer needs to detect the shutdown, also on a busy machine.
  const stack = await startStack(backend, { SHUTDOWN_DELAY_MS: '2500' })
  onTestFinished(() => stack.close())
  const receiver = await startHttpReceiver(() => ({ delayMs: 20 }))
  onTestFinished(() => receiver.close())
  const ports = [Number(new URL(stack.api.url).port), await findFreePort()] as const
  const startApi = async (port: number, directory = '') => {
    const env = { ...stack.env, PORT: String(port) }
    const script = join(directory, 'apps/api/src/main.ts')
    const started = await startProcess({ script, env, readyUrl: `http://127.0.0.1:${port}/ready`, timeoutMs })
    stack.apis.push(started)
    return started
  }
  const apis = new Map<number, StartedProcess | undefined>([
    [ports[0], stack.apis[0]],
    [ports[1], await startApi(ports[1])],
  ])
  if (isFullRun) await stack.startWorker()
  const balancer = await startLoadBalancer(ports)
  onTestFinished(() => balancer.close())
  const waitForBoth = () =>
    waitUntil(() => ports.every((port) => balancer.isReady(port)), {
      describe: 'the load balancer uses both APIs',
      timeoutMs,
    })
  await waitForBoth()

  const api = createApi(balancer.url)
  const { key, workspaceId } = await api.createWorkspace()
  await api.call('POST', '/webhooks', { key, body: { url: `${receiver.url}/a`, eventTypes: ['contact.created'] } })
  const campaignId = await sendCampaign(stack, api, { key, workspaceId })
  const writing = startWriting(api, key)

  return {
    stack,
    async restartWorkers(directory) {
      for (const worker of stack.workers.filter(({ isRunning }) => isRunning)) {
        worker.kill('SIGTERM')
        await stack.startWorker(directory)
        expect(await worker.exited).toEqual({ code: 0, signal: null })
      }
    },
    async restartApis(directory, count = apis.size) {
      for (const [port, running] of [...apis].slice(0, count)) {
        running?.kill('SIGTERM')
        expect(await running?.exited).toEqual({ code: 0, signal: null })
        apis.set(port, await startApi(port, directory))
        await waitForBoth()
      }
    },
    async end() {
      const { acknowledged, unexpected } = await writing.stop()
      expect(acknowledged.length).toBeGreaterThan(50)
      expect(await expectConsistentDeliveries(stack, { workspaceId, acknowledged, receiver })).toBe(0)
      const { rows: unsent } = await stack.database.pool.query(
        `select status, attempts, error from campaign_recipients where status <> 'SENT'`,
      )
      expect(unsent).toEqual([])
      const none = { failed: 0, skipped: 0, interrupted: 0, pending: 0 }
      expect(await readRecipientCounts(stack.database, campaignId)).toEqual({
        queued: recipients,
        sent: recipients,
        ...none,
      })
      return [...balancer.failures, ...unexpected]
    },
  }
}

type Api = ReturnType<typeof createApi>

async function sendCampaign(
  stack: Stack,
  api: Api,
  { key, workspaceId }: { key: string; workspaceId: string },
): Promise<string> {
  const list = await api.call<{ id: string }>('POST', '/lists', { key, body: { name: 'Everyone' } })
  await addConfirmedSubscribers(stack.database, { workspaceId, listId: list.body.id }, recipients)
  stack.inbox.decide(() => ({ delayMs: 500 }))
  const body = { name: 'News', subject: 'News', listId: list.body.id }
  const campaign = await api.call<{ id: string }>('POST', '/campaigns', { key, body })
  await api.call('POST', `/campaigns/${campaign.body.id}/send`, { key })
  return campaign.body.id
}

/** Three clients, each of which creates a contact, reads it, and pauses. */
function startWriting(api: Api, key: string) {
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
      const body = { email: `writer-${writer}-${n}@example.com` }
      const { id } = await request(201, 'POST', '/contacts', { key, body })
      acknowledged.push(id)
      await request(200, 'GET', `/contacts/${id}`, { key })
      await pause(pauseMs)
    }
  }
  const writing = Promise.all([0, 1, 2].map(write))
  const stop = async () => {
    stopping.abort()
    await writing
    return { acknowledged, unexpected }
  }
  onTestFinished(async () => void (await stop()))
  return { stop }
}
