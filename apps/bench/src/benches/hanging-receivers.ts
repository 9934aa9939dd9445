import { setTimeout as sleep } from 'node:timers/promises'
import { contactUpdated } from '@rapport/core/contacts/contact-events.ts'
import { emitMany } from '@rapport/core/events/emit.ts'
import { uuidOf } from '@rapport/core/kernel/ids.ts'
import {
  type Commits,
  createSubscribed,
  exampleContact,
  latenciesOf,
  type Receiver,
  writeContact,
} from '../deliveries.ts'
import { type Bench, type Figure, type Options, quantile, takeTurns } from '../figures.ts'
import { type Installation, onInstallation, type Workspace } from '../installation.ts'
import { until } from '../processes.ts'

/** Deliveries that wait for a receiver when it begins to hang. */
const backlog = 200

interface Site extends Options {
  installation: Installation
  receiver: Receiver
}

interface Scene {
  name: string
  workspaces: Workspace[]
  /** The first webhook of each hangs. */
  hanging: Workspace[]
}

export const hangingReceivers: Bench = {
  about: 'Webhooks while some receivers never respond, after the first minute, beside none of them hanging',
  measure: (options) =>
    onInstallation(async (installation) => {
      const receiver = await installation.startReceiver()
      await installation.startRedis()
      await installation.startWorker()
      const site: Site = { ...options, installation, receiver }
      const few = await createSubscribed(installation, receiver, { workspaces: 5, webhooksEach: 4 })
      const many = await createSubscribed(installation, receiver, { workspaces: 40, webhooksEach: 1 })
      return [
        await compareHanging(site, { name: '1 of 20 receivers', workspaces: few, hanging: few.slice(0, 1) }),
        await compareHanging(site, { name: '20 of 40 workspaces', workspaces: many, hanging: many.slice(0, 20) }),
      ]
    }),
}

async function compareHanging(site: Site, scene: Scene): Promise<Figure> {
  const times = await takeTurns(
    site,
    { hanging: () => measureHanging(site, scene), none: () => measureOthers(site, scene) },
    { warmUp: false },
  )
  return {
    name: `webhooks, commit to receipt with ${scene.name} hanging, p99 of the others`,
    unit: 'ms',
    values: times.hanging,
    beside: { name: 'with none hanging', values: times.none },
    target: { atMost: 1.5 },
  }
}

async function measureHanging(site: Site, scene: Scene): Promise<number> {
  const { installation, receiver, quick } = site
  await point(installation, scene, { from: '/0', to: '/hang' })
  const records = Array.from({ length: backlog }, () => exampleContact)
  for (const { ctx } of scene.hanging) await emitMany(ctx, contactUpdated, records)
  // In the first minute the worker finds out which receivers hang.
  await sleep(quick ? 5_000 : 60_000)
  await untilOthersDone(installation)
  await receiver.takeReceipts()
  const p99 = await measureOthers(site, scene)
  await point(installation, scene, { from: '/hang', to: '/0' })
  await installation.untilDone()
  await receiver.takeReceipts()
  return p99
}

/** The p99 from commit to receipt, of the receivers that respond. */
async function measureOthers({ installation, receiver, quick }: Site, { workspaces }: Scene): Promise<number> {
  const commits: Commits = new Map()
  const writes: Promise<void>[] = []
  for (let n = 0; n < (quick ? 80 : 600); n += 1) {
    const { ctx } = workspaces[n % workspaces.length] as Workspace
    writes.push(writeContact(ctx, commits))
    await sleep(20)
  }
  await Promise.all(writes)
  await untilOthersDone(installation)
  return quantile(await latenciesOf(installation, commits, await receiver.takeReceipts()), 0.99)
}

/** Also ends pauses, as an update of a webhook's url by the API does. */
async function point({ client }: Installation, { hanging }: Scene, path: { from: string; to: string }): Promise<void> {
  const ids = hanging.map(({ ctx }) => uuidOf(ctx.workspaceId))
  const move = `update webhooks set url = replace(url, $2, $3) where workspace_id = any($1) and url like '%' || $2`
  await client.query(move, [ids, path.from, path.to])
  const resume = 'update webhook_drains set paused_until = null, unreachable_count = 0 where workspace_id = any($1)'
  await client.query(resume, [ids])
}

async function untilOthersDone({ client }: Installation): Promise<void> {
  const left = `select from deliveries join webhooks
    on webhooks.workspace_id = deliveries.workspace_id and webhooks.id = deliveries.webhook_id
    where deliveries.status = 'PENDING' and url not like '%/hang' limit 1`
  await until(async () => (await client.query(left)).rowCount === 0)
}
