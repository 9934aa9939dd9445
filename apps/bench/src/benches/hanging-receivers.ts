import { Agent } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { contactCreated } from '@rapport/core/contacts/contact-events.ts'
import { emitMany } from '@rapport/core/events/emit.ts'
import { uuidOf } from '@rapport/core/kernel/ids.ts'
import {
  type Commits,
  createWorkspacesWithWebhooks,
  exampleContact,
  computeLatenciesMs,
  type Receiver,
  writeContact,
} from '../deliveries.ts'
import { type Bench, type Figure, type Options, quantile, measureRounds } from '../measurements.ts'
import { type Installation, withInstallation, type Workspace } from '../installation.ts'
import { waitUntil } from '../processes.ts'

/** Number of deliveries in the backlog of a receiver when it starts to hang, or to respond slowly. */
const backlog = 200

interface Setup extends Options {
  installation: Installation
  receiver: Receiver
  api: { url: string; agent: Agent }
}

interface Scenario {
  name: string
  workspaces: Workspace[]
  /** In these workspaces the receiver of the first webhook has this path instead of `/0`. */
  changed: Workspace[]
  path: '/hang' | '/slow/9000'
  atMost: number
}

export const hangingReceivers: Bench = {
  about: 'Webhook latency while some receivers never respond, after a minute; baseline: all receivers respond',
  measure: (options) =>
    withInstallation(async (installation) => {
      const receiver = await installation.startReceiver()
      await installation.startRedis()
      await installation.startWorker()
      const { url } = await installation.startApi()
      const agent = new Agent({ keepAlive: true })
      const setup: Setup = { ...options, installation, receiver, api: { url, agent } }
      const few = await createWorkspacesWithWebhooks(installation, receiver, { workspaces: 5, webhooksEach: 4 })
      const many = await createWorkspacesWithWebhooks(installation, receiver, { workspaces: 40, webhooksEach: 1 })
      const one = await createWorkspacesWithWebhooks(installation, receiver, { workspaces: 1, webhooksEach: 20 })
      const hanging = { path: '/hang', atMost: 1.5 } as const
      return [
        await compareChanged(setup, {
          name: '1 of 20 receivers hanging',
          workspaces: few,
          changed: few.slice(0, 1),
          ...hanging,
        }),
        await compareChanged(setup, {
          name: '20 of 40 workspaces hanging',
          workspaces: many,
          changed: many.slice(0, 20),
          ...hanging,
        }),
        await compareChanged(setup, {
          name: '1 of 20 webhooks of a workspace responding in 9 s',
          workspaces: one,
          changed: one,
          path: '/slow/9000',
          atMost: 3,
        }),
      ]
    }),
}

async function compareChanged(setup: Setup, scenario: Scenario): Promise<Figure> {
  const times = await measureRounds(
    setup,
    { changed: () => measureChanged(setup, scenario), none: () => measureOthers(setup, scenario) },
    { warmUp: false },
  )
  return {
    name: `webhooks, commit to receipt with ${scenario.name}, p99 of the other receivers`,
    unit: 'ms',
    values: times.changed,
    baseline: { name: 'with none', values: times.none },
    target: { atMost: scenario.atMost },
  }
}

async function measureChanged(setup: Setup, scenario: Scenario): Promise<number> {
  const { installation, receiver, quick } = setup
  await changeUrls(installation, scenario, { from: '/0', to: scenario.path })
  const records = Array.from({ length: backlog }, () => exampleContact)
  for (const { ctx } of scenario.changed) await emitMany(ctx, contactCreated, records)
  // The worker needs up to a minute to detect which receivers hang or are slow.
  await sleep(quick ? 5_000 : 60_000)
  await waitForOthers(installation)
  await receiver.takeReceipts()
  const p99 = await measureOthers(setup, scenario)
  await changeUrls(installation, scenario, { from: scenario.path, to: '/0' })
  await installation.waitUntilDone()
  await receiver.takeReceipts()
  return p99
}

/** Returns the p99 from commit to receipt for the receivers that respond. */
async function measureOthers({ installation, receiver, api, quick }: Setup, { workspaces }: Scenario): Promise<number> {
  const commits: Commits = new Map()
  const writes: Promise<void>[] = []
  for (let n = 0; n < (quick ? 80 : 600); n += 1) {
    const { key } = workspaces[n % workspaces.length] as Workspace
    writes.push(writeContact({ ...api, key }, commits))
    await sleep(20)
  }
  await Promise.all(writes)
  await waitForOthers(installation)
  return quantile(await computeLatenciesMs(installation, commits, await receiver.takeReceipts()), 0.99)
}

/** Changes the URLs and ends pauses, as an update of the URL over the API does. */
async function changeUrls(
  { client }: Installation,
  { changed }: Scenario,
  path: { from: string; to: string },
): Promise<void> {
  const ids = changed.map(({ ctx }) => uuidOf(ctx.workspaceId))
  const move = `update webhooks set url = replace(url, $2, $3) where workspace_id = any($1) and url like '%' || $2`
  await client.query(move, [ids, path.from, path.to])
  const resume = 'update webhook_health set paused_until = null, unreachable_count = 0 where workspace_id = any($1)'
  await client.query(resume, [ids])
}

async function waitForOthers({ client }: Installation): Promise<void> {
  const left = `select from deliveries join webhooks
    on webhooks.workspace_id = deliveries.workspace_id and webhooks.id = deliveries.webhook_id
    where deliveries.status = 'PENDING' and url not like '%/hang' and url not like '%/slow/%' limit 1`
  await waitUntil(async () => (await client.query(left)).rowCount === 0)
}
