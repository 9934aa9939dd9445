/** Many webhooks under a stream of writes, and the faults to inject. */
import { setTimeout as pause } from 'node:timers/promises'
import type { StartedProcess } from '@rapport/testing/processes/processes.ts'
import { type ReceiverResponse, type HttpReceiver, startHttpReceiver } from '@rapport/testing/network/receivers.ts'
import type { Random } from '@rapport/testing/runs.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import type { Stack } from './stack.ts'
import { type ChaosWebhook, inspectDeliveries } from './delivery-inspection.ts'

const pick = <Item>(items: readonly Item[], random: Random) => items[Math.floor(random() * items.length)] as Item

export interface ChaosPlan {
  workspaces: number
  webhooksPerWorkspace: number
  contactsPerWorkspace: number
  workers: number
  /** Milliseconds between the contacts of a workspace. */
  pauseMs: number
}

export type ChaosRun = Awaited<ReturnType<typeof startChaosRun>>

/**
 * Starts workers, creates webhooks and writes contacts. Some receivers are slow, fail, disconnect or hang. They have
 * their own random numbers, so that the faults of a seed do not depend on the number of requests.
 */
export async function startChaosRun(
  stack: Stack,
  plan: ChaosPlan,
  { random, receiverRandom }: { random: Random; receiverRandom: Random },
) {
  let isEnding = false
  const responses: (() => ReceiverResponse | undefined)[] = [
    () => undefined,
    () => undefined,
    () => ({ delayMs: receiverRandom() * 50 }),
    () => (receiverRandom() < 0.05 ? { delayMs: 1_000 + receiverRandom() * 1_000 } : undefined),
    () => (receiverRandom() < 0.3 ? { status: 500 } : undefined),
    () => (receiverRandom() < 0.1 ? { fault: 'disconnect' } : { delayMs: 5 }),
  ]
  const receiver: HttpReceiver = await startHttpReceiver(({ url }) => {
    const number = Number(url.replace(/\D/g, ''))
    // This receiver does not respond until the end of the run, so that no delivery stays PENDING.
    if (number === 7) return isEnding ? undefined : { fault: 'hang' }
    return responses[number % responses.length]?.()
  })

  const webhooks: ChaosWebhook[] = []
  const addWebhook = async (key: string, isStable: boolean) => {
    const path = `/${webhooks.length}`
    const body = { url: receiver.url + path, eventTypes: ['contact.created'] }
    const { id } = await retry(() => stack.api.call<{ id: string }>('POST', '/webhooks', { key, body }))
    webhooks.push({ key, id, path, isStable, isDeleted: false })
  }
  /** While the database restarts, the API responds with 503. */
  async function retry<Body>(call: () => Promise<{ status: number; body: Body }>): Promise<Body> {
    return waitUntil(
      async () => {
        const { status, body } = await call()
        if (status >= 500) throw new Error(`The API responded with ${status}`)
        return [body] as const
      },
      { describe: 'the API accepts it', timeoutMs: 30_000 },
    ).then(([body]) => body)
  }

  while (stack.workers.length < plan.workers) await stack.startWorker()
  const keys: string[] = []
  for (let n = 0; n < plan.workspaces; n++) keys.push((await stack.api.createWorkspace()).key)
  for (const key of keys) for (let n = 0; n < plan.webhooksPerWorkspace; n++) await addWebhook(key, true)
  const changeable = webhooks.slice(0, webhooks.length / 2)

  const acknowledged: { key: string; id: string }[] = []
  const writing = Promise.all(
    keys.map(async (key) => {
      for (let n = 0; n < plan.contactsPerWorkspace; n++) {
        const body = { email: `person-${n}@example.com` }
        const response = await stack.api.call<{ id: string }>('POST', '/contacts', { key, body }).catch(() => undefined)
        if (response?.status === 201) acknowledged.push({ key, id: response.body.id })
        await pause(plan.pauseMs)
      }
    }),
  )

  const counts: Record<string, number> = {}
  /** The number of killed or frozen workers, whose requests in flight may become INTERRUPTED. */
  let crashes = 0
  const frozen = new Set<StartedProcess>()
  const runningWorkers = () => stack.workers.filter((worker) => worker.isRunning && !frozen.has(worker))

  const faults = {
    async kill() {
      const worker = pick(runningWorkers(), random)
      crashes += 1
      worker.kill('SIGKILL')
      await worker.exited
      await stack.startWorker()
    },
    async terminate() {
      const worker = pick(runningWorkers(), random)
      worker.kill('SIGTERM')
      await Promise.all([worker.exited, stack.startWorker()])
    },
    /** Freezes a worker until its claims are recovered. The caller does not await the end. */
    async freeze() {
      const worker = pick(runningWorkers(), random)
      crashes += 1
      frozen.add(worker)
      worker.kill('SIGSTOP')
      await stack.startWorker()
      // Longer than the heartbeat timeout.
      await pause(6_000)
      worker.kill('SIGCONT')
      await pause(3_000)
      frozen.delete(worker)
      worker.kill('SIGTERM')
      await worker.exited
    },
    async killApi() {
      const api = stack.apis.at(-1)
      api?.kill('SIGKILL')
      await api?.exited
      await stack.startApi()
    },
    emptyRedis: async () => stack.redis?.flush(),
    async crashRedis() {
      await stack.redis?.stop()
      await pause(random() * 1_000)
      await stack.redis?.start()
    },
    async freezeRedis() {
      stack.redis?.pause()
      await pause(random() * 3_000)
      stack.redis?.resume()
    },
    async disable() {
      const webhook = pick(
        changeable.filter(({ isDeleted }) => !isDeleted),
        random,
      )
      webhook.isStable = false
      const change = (enabled: boolean) =>
        retry(() => stack.api.call('PATCH', `/webhooks/${webhook.id}`, { key: webhook.key, body: { enabled } }))
      await change(false)
      await pause(random() * 500)
      await change(true)
    },
    async remove() {
      const webhook = pick(
        changeable.filter(({ isDeleted }) => !isDeleted),
        random,
      )
      webhook.isStable = false
      webhook.isDeleted = true
      await retry(() => stack.api.call('DELETE', `/webhooks/${webhook.id}`, { key: webhook.key }))
      await addWebhook(webhook.key, false)
    },
    async rotate() {
      const webhook = pick(
        webhooks.filter(({ isDeleted }) => !isDeleted),
        random,
      )
      await retry(() => stack.api.call('POST', `/webhooks/${webhook.id}/rotate-secret`, { key: webhook.key }))
    },
  }
  type Fault = keyof typeof faults

  async function injectFault(fault: Fault): Promise<void> {
    counts[fault] = (counts[fault] ?? 0) + 1
    await faults[fault]()
  }

  /** Lets every receiver respond, ends the pauses of webhooks, and waits until no delivery is PENDING. */
  async function finish(timeoutMs: number): Promise<void> {
    await writing
    isEnding = true
    const pending = async () => {
      await stack.database.pool.query(`update webhook_health set paused_until = null where paused_until > now()`)
      const { rows } = await stack.database.pool.query<{ count: number }>(
        `select count(*)::int from deliveries where status = 'PENDING'`,
      )
      return rows[0]?.count
    }
    let left: number | undefined
    await waitUntil(async () => (left = await pending()) === 0, {
      describe: () => `no delivery is PENDING (${left} left)`,
      timeoutMs,
    })
  }

  return {
    receiver,
    injectFault,
    finish,
    counts,
    crashes: () => crashes,
    inspectDeliveries: () => inspectDeliveries(stack, { receiver, webhooks, acknowledged }),
  }
}
