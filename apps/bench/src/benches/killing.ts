import type { CampaignStats } from '@rapport/core/campaigns/campaigns.schema.ts'
import type { ChildProcess } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { createCampaign, createList, readStats, send, waitForEnd } from '../campaigns.ts'
import type { Bench, Figure, Options } from '../figures.ts'
import { type Installation, onInstallation } from '../installation.ts'
import { end, until } from '../processes.ts'

/** Not a measurement but a proof: it fails when anyone is lost, or mailed twice. */
export const killing: Bench = {
  about: 'Workers killed at random amid a campaign, Redis emptied once: what a mail server received beside the ledger',
  measure: async (options) => [...(await killOn('redis', options)), ...(await killOn('postgres', options))],
}

function killOn(backend: 'redis' | 'postgres', { quick, say }: Options): Promise<Figure[]> {
  const [recipients, kills] = quick ? [1_000, 2] : [20_000, 10]
  return onInstallation(async (installation) => {
    if (backend === 'redis') await installation.startRedis()
    const sink = await installation.startSink()
    const sender = { api: await installation.startApi(), workspace: await installation.createWorkspace() }
    const listId = await createList(installation, sender, { name: 'reader', count: recipients })
    const id = await createCampaign(sender, listId)
    const workers = [await installation.startWorker(), await installation.startWorker()]
    await send(sender, id)
    await killWorkers(installation, workers, { recipients, kills, readStats: () => readStats(sender, id) })
    const perSecond = await waitForEnd(sender, id)
    const stats = await readStats(sender, id)
    const found = compare(stats, { receipts: await sink.takeReceipts(), sent: await readSent(installation) })
    const counts = { recipients: stats.queued, kills, ...found, 'per second': Math.round(perSecond) }
    const note = Object.entries(counts).map(([name, value]) => `${name} ${value.toLocaleString('en')}`)
    say(`${backend}: ${note.join(', ')}`)
    if (stats.queued !== recipients || found.lost > 0 || found.repeated > 0)
      throw new Error(`${backend}: ${JSON.stringify(counts)}`)
    return [
      {
        name: `mails lost or repeated, ${backend}`,
        unit: '',
        values: [found.lost + found.repeated],
        target: { atMost: 0 },
        note: note.join(', '),
      },
      { name: `campaign among kills, ${backend}`, unit: 'mails/s', values: [perSecond] },
    ]
  })
}

interface Plan {
  recipients: number
  kills: number
  readStats: () => Promise<CampaignStats>
}

/** At random instants, each when a random share of its part of the campaign is done. */
async function killWorkers(
  installation: Installation,
  workers: ChildProcess[],
  { recipients, kills, readStats }: Plan,
) {
  for (let count = 0; count < kills; count += 1) {
    const share = (count + Math.random()) / (kills + 1)
    await until(async () => recipients - (await readStats()).pending >= share * recipients)
    await sleep(Math.random() * 50)
    const victim = Math.floor(Math.random() * workers.length)
    await end(workers[victim] as ChildProcess, 'SIGKILL')
    workers[victim] = await installation.startWorker()
    if (count === Math.floor(kills / 2)) await installation.flushRedis()
  }
}

/** Lost: SENT in the ledger but never received, or never sent to and not said why. */
function compare(stats: CampaignStats, { receipts, sent }: { receipts: string[]; sent: string[] }) {
  const received = new Set(receipts)
  const unaccounted = stats.queued - stats.sent - stats.failed - stats.skipped - stats.interrupted
  return {
    sent: stats.sent,
    interrupted: stats.interrupted,
    'of these received': received.size - stats.sent,
    failed: stats.failed,
    skipped: stats.skipped,
    lost: sent.filter((email) => !received.has(email)).length + unaccounted + Math.abs(stats.sent - sent.length),
    repeated: receipts.length - received.size,
  }
}

/** Who was sent to, as the ledger says. */
async function readSent({ client }: Installation): Promise<string[]> {
  const found = await client.query<{ email: string }>(
    `select email from contacts c join campaign_recipients r on r.workspace_id = c.workspace_id and r.contact_id = c.id
     where r.status = 'SENT'`,
  )
  return found.rows.map((row) => row.email)
}
