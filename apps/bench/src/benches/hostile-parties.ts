import { Agent } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { deriveKeys } from '@rapport/core/kernel/crypto.ts'
import { idOf, newId } from '@rapport/core/kernel/ids.ts'
import { createRecipientToken, toReturnPath } from '@rapport/core/mail/bounces/recipient-token.ts'
import { createWebhook } from '@rapport/core/operations/webhooks/save-webhook.ts'
import { findFreePort } from '@rapport/embedded-postgres/free-port.ts'
import { startSilentNameServer } from '@rapport/testing/network/hostile-parties.ts'
import { startMailSink } from '../campaigns.ts'
import { insertContacts, pickContactIds } from '../contacts.ts'
import { type Commits, computeLatenciesMs, type Receiver, writeContact } from '../deliveries.ts'
import type { Attack } from '../hostile-generator.ts'
import { call, type Installation, type Server, withInstallation, type Workspace } from '../installation.ts'
import type { Load } from '../load.ts'
import { type Bench, type Figure, formatNumber, measureRounds, type Options, quantile } from '../measurements.ts'
import { startNoise } from '../noise.ts'

interface Setup {
  installation: Installation
  options: Options
  api: Server
  receiver: Receiver
  quiet: Workspace
  bouncePort: number
}

export const hostileParties: Bench = {
  about: 'p99 of a workspace while others send hostile bounces, large messages and slow checks; baseline: without them',
  async measure(options) {
    const dns = await startSilentNameServer()
    try {
      return await withInstallation(async (installation) => {
        const bouncePort = await findFreePort()
        Object.assign(installation.environment, { BOUNCE_PORT: String(bouncePort), DNS_SERVER: dns.address })
        await installation.startRedis()
        await startMailSink(installation)
        const receiver = await installation.startReceiver()
        const api = await installation.startApi()
        const quiet = await installation.createWorkspace()
        await insertContacts(installation, quiet, 1_000)
        await installation.startWorker()
        return measureAttacks({ installation, options, api, receiver, quiet, bouncePort })
      })
    } finally {
      dns.close()
    }
  },
}

async function measureAttacks(setup: Setup): Promise<Figure[]> {
  const load = await createLoad(setup)
  const messages = await sendMessages(setup)
  const checks = await checkDomains(setup)
  const requests = 'GET and POST of contacts'
  return [
    await compare(setup, {
      name: `${requests} while 32 checks of domains wait for a silent name server`,
      measure: load,
      attack: checks,
    }),
    await compare(setup, {
      name: `${requests} while a workspace sends 40 messages of 8,000 bounces at once`,
      measure: load,
      attack: messages,
    }),
    await compare(setup, {
      name: 'webhooks, commit to receipt, while three connections send hostile bounces',
      measure: await createDeliveries(setup),
      attack: sendBounces(setup),
    }),
  ]
}

interface Measured {
  p99: number
  /** The share of responses that were 503. */
  rejected?: number
}

interface Comparison {
  name: string
  measure: () => Promise<Measured>
  attack: Attack
}

async function compare({ installation, options }: Setup, { name, measure, attack }: Comparison): Promise<Figure> {
  let maxRejected = 0
  async function attacked() {
    const noise = startNoise(installation, 'hostile-generator.ts', attack)
    try {
      await sleep(1_000)
      const { p99, rejected = 0 } = await measure()
      maxRejected = Math.max(maxRejected, rejected)
      return p99
    } finally {
      await noise.stop()
    }
  }
  const times = await measureRounds(options, { attacked, alone: async () => (await measure()).p99 }, { warmUp: false })
  return {
    name: `${name}, p99`,
    unit: 'ms',
    values: times.attacked,
    baseline: { name: 'without them', values: times.alone },
    target: { atMost: 2 },
    ...(maxRejected > 0 && { note: `at most ${formatNumber(maxRejected * 100)} % of the responses were 503` }),
  }
}

/** Reads and writes of the quiet workspace at a fixed rate. */
async function createLoad({ installation, options, api, quiet }: Setup): Promise<() => Promise<Measured>> {
  const ids = (await pickContactIds(installation, 1_000)).map((uuid) => idOf('con', uuid))
  const generator = installation.startLoadGenerator()
  const load: Load = {
    urls: [api.url],
    key: quiet.key,
    requests: ids.flatMap((id) => [
      { method: 'GET', path: `/contacts/${id}` },
      { method: 'POST', path: '/contacts', body: { email: 'meanwhile{n}@example.com' } },
      { method: 'GET', path: '/contacts?limit=50' },
    ]),
    perSecond: 50,
    allows503: true,
  }
  return () => generator.run(load, options.quick ? 1_000 : 20_000)
}

/** Deliveries of the quiet workspace at a fixed rate: the worker sends them, which also receives bounces. */
async function createDeliveries({ installation, options, api, receiver, quiet }: Setup) {
  await createWebhook(quiet.ctx, { url: receiver.url, eventTypes: ['contact.created'] })
  const agent = new Agent({ keepAlive: true })
  return async () => {
    const commits: Commits = new Map()
    const writes: Promise<void>[] = []
    for (let count = 0; count < (options.quick ? 50 : 1_000); count += 1) {
      writes.push(writeContact({ url: api.url, agent, key: quiet.key }, commits))
      await sleep(20)
    }
    await Promise.all(writes)
    await installation.waitUntilDone()
    return { p99: quantile(await computeLatenciesMs(installation, commits, await receiver.takeReceipts()), 0.99) }
  }
}

function sendBounces({ installation, quiet, bouncePort }: Setup): Attack {
  const keys = deriveKeys(installation.environment['SECRET_KEY'] ?? '')
  const { workspaceId } = quiet.ctx
  const paths = Array.from({ length: 10 }, (_, at) => {
    const subject = { campaignId: newId('cmp'), contactId: newId('con') }
    const email = `person${at}@example.com`
    return `${toReturnPath(createRecipientToken(keys, { workspaceId, subject, email }))}@b.example`
  })
  return { kind: 'bounces', port: bouncePort, paths }
}

/** Eight workspaces check a domain four times at once. */
async function checkDomains({ installation, api }: Setup): Promise<Attack> {
  const domains = await Promise.all(
    Array.from({ length: 8 }, async (_, at) => {
      const { key } = await installation.createWorkspace()
      const body = { name: `slow${at}.example` }
      return { key, id: (await call<{ id: string }>(api, key, ['POST /domains', body])).id }
    }),
  )
  return { kind: 'checks', url: api.url, domains }
}

/** A workspace sends messages about its contacts to a hook of its own, forty at once. */
async function sendMessages({ installation, options, api }: Setup): Promise<Attack> {
  const workspace = await installation.createWorkspace()
  await insertContacts(installation, workspace, 8_000)
  return { kind: 'messages', url: api.url, key: workspace.key, connections: options.quick ? 4 : 40 }
}
