import type { CampaignStats } from '@rapport/core/campaigns/campaign-stats.schema.ts'
import type { ChildProcess } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { createCampaign, createList, readStats, send, waitForEnd } from '../campaigns.ts'
import type { Bench, Figure, Options } from '../measurements.ts'
import { type Installation, withInstallation } from '../installation.ts'
import { stopProcess, waitUntil } from '../processes.ts'

/** A correctness check rather than a measurement: it fails if a recipient is lost or receives two mails. */
export const killing: Bench = {
  about:
    'Kills workers during a campaign and flushes Redis once; compares the received mails with the recorded outcomes',
  measure: async (options) => [...(await killOn('redis', options)), ...(await killOn('postgres', options))],
}

function killOn(backend: 'redis' | 'postgres', { quick, log }: Options): Promise<Figure[]> {
  const [recipients, kills] = quick ? [1_000, 2] : [20_000, 10]
  return withInstallation(async (installation) => {
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
    const receipts = (await sink.takeArrivals()).map(([recipient]) => recipient)
    const found = compare(stats, { receipts, sent: await readSentAddresses(installation) })
    const counts = { recipients: stats.queued, kills, ...found, 'per second': Math.round(perSecond) }
    const note = Object.entries(counts).map(([name, value]) => `${name} ${value.toLocaleString('en')}`)
    log(`${backend}: ${note.join(', ')}`)
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
      { name: `campaign with killed workers, ${backend}`, unit: 'mails/s', values: [perSecond] },
    ]
  })
}

interface Plan {
  recipients: number
  kills: number
  readStats: () => Promise<CampaignStats>
}

/** Divides the campaign into equal parts and kills a worker at a random moment in each part. */
async function killWorkers(
  installation: Installation,
  workers: ChildProcess[],
  { recipients, kills, readStats }: Plan,
) {
  for (let count = 0; count < kills; count += 1) {
    const share = (count + Math.random()) / (kills + 1)
    await waitUntil(async () => recipients - (await readStats()).pending >= share * recipients)
    await sleep(Math.random() * 50)
    const victim = Math.floor(Math.random() * workers.length)
    await stopProcess(workers[victim] as ChildProcess, 'SIGKILL')
    workers[victim] = await installation.startWorker()
    if (count === Math.floor(kills / 2)) await installation.flushRedis()
  }
}

/** Lost recipients: recorded as SENT but not received, or without a final outcome. */
function compare(stats: CampaignStats, { receipts, sent }: { receipts: string[]; sent: string[] }) {
  const received = new Set(receipts)
  const unaccounted = stats.queued - stats.sent - stats.failed - stats.skipped - stats.interrupted
  return {
    sent: stats.sent,
    interrupted: stats.interrupted,
    'interrupted but received': received.size - stats.sent,
    failed: stats.failed,
    skipped: stats.skipped,
    lost: sent.filter((email) => !received.has(email)).length + unaccounted + Math.abs(stats.sent - sent.length),
    repeated: receipts.length - received.size,
  }
}

/** Returns the addresses of the recipients that are recorded as SENT. */
async function readSentAddresses({ client }: Installation): Promise<string[]> {
  const found = await client.query<{ email: string }>(
    `select email from contacts c join campaign_recipients r on r.workspace_id = c.workspace_id and r.contact_id = c.id
     where r.status = 'SENT'`,
  )
  return found.rows.map((row) => row.email)
}
