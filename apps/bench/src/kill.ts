/**
 * Kills workers amid a campaign and compares what a mail server received with what the ledger says.
 * `pnpm bench:kill [recipients] [kills] [redis,postgres]`, on both queue backends unless told otherwise; with Redis it is emptied once on the way.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Backend, end, type House, openHouse, waitFor } from './house.ts'

const recipients = Number(process.argv[2] ?? 20_000)
const kills = Number(process.argv[3] ?? 10)
const workerCount = 2

interface Stats {
  queued: number
  sent: number
  failed: number
  skipped: number
  interrupted: number
  pending: number
}

let isClean = true
for (const backend of (process.argv[4]?.split(',') ?? ['redis', 'postgres']) as Backend[])
  isClean = (await kill(backend)) && isClean
process.exitCode = isClean ? 0 : 1

async function kill(backend: Backend): Promise<boolean> {
  const sink = await startSink()
  const house = await openHouse({ backend, smtpUrl: `smtp://127.0.0.1:${sink.port}` })
  try {
    const listId = await house.fillList('reader', recipients)
    const campaign = { name: 'News', subject: 'News for {{ contact.firstName }}', listId }
    const { id } = await house.call<{ id: string }>('POST', '/campaigns', campaign)
    const workers = Array.from({ length: workerCount }, () => house.startWorker())
    await sleep(1_500)
    const startedAt = performance.now()
    await house.call('POST', `/campaigns/${id}/send`)
    await killWorkers(house, id, workers)
    await waitFor(async () => (await house.call<{ status: string }>('GET', `/campaigns/${id}`)).status === 'SENT')
    const seconds = (performance.now() - startedAt) / 1000
    const stats = await house.call<Stats>('GET', `/campaigns/${id}/stats`)
    await explainFailures(house)
    return report({ backend, seconds, stats, receipts: await sink.receipts(), sent: await readSent(house) })
  } finally {
    await house.close()
    await end(sink.child)
  }
}

/** At random instants, each when a random share of its part of the campaign is done. */
async function killWorkers(house: House, id: string, workers: ChildProcess[]) {
  const done = async () => recipients - (await house.call<Stats>('GET', `/campaigns/${id}/stats`)).pending
  for (let count = 0; count < kills; count += 1) {
    const share = (count + Math.random()) / (kills + 1)
    await waitFor(async () => (await done()) >= share * recipients)
    await sleep(Math.random() * 50)
    const victim = Math.floor(Math.random() * workers.length)
    await end(workers[victim] as ChildProcess, 'SIGKILL')
    workers[victim] = house.startWorker()
    if (count === Math.floor(kills / 2)) await house.flushRedis()
  }
}

/** The server takes everything: who FAILED all the same says something of the machine. */
async function explainFailures(house: House) {
  const found = await house.client.query<{ error: string; people: string }>(
    `select error, count(*) as people from campaign_recipients where status in ('FAILED', 'SKIPPED') group by error`,
  )
  for (const { error, people } of found.rows) console.log(`  ${people} not sent to: ${error}`)
}

async function readSent(house: House): Promise<string[]> {
  const found = await house.client.query<{ email: string }>(
    `select email from contacts c join campaign_recipients r on r.workspace_id = c.workspace_id and r.contact_id = c.id
     where r.status = 'SENT'`,
  )
  return found.rows.map((row) => row.email)
}

interface Result {
  backend: Backend
  seconds: number
  stats: Stats
  receipts: string[]
  /** Who was sent to, as the ledger says. */
  sent: string[]
}

/** Lost: SENT in the ledger but never received, or never sent to and not said why. Whether all is well. */
function report({ backend, seconds, stats, receipts, sent }: Result): boolean {
  const received = new Set(receipts)
  const unaccounted = stats.queued - stats.sent - stats.failed - stats.skipped - stats.interrupted
  const lost = sent.filter((email) => !received.has(email)).length + unaccounted
  const repeated = receipts.length - received.size
  const figures = {
    recipients: stats.queued,
    kills,
    sent: stats.sent,
    interrupted: stats.interrupted,
    'of these received': received.size - stats.sent,
    failed: stats.failed,
    skipped: stats.skipped,
    lost,
    repeated,
    'per second': Math.round(stats.queued / seconds),
  }
  const isWhole = stats.sent === sent.length && stats.queued === recipients
  console.log(
    `${backend}: ${Object.entries(figures)
      .map(([name, value]) => `${name} ${value.toLocaleString('en')}`)
      .join(', ')}`,
  )
  return isWhole && lost === 0 && repeated === 0
}

async function startSink() {
  const child = fork(resolve(import.meta.dirname, 'sink.ts'))
  const [port] = (await once(child, 'message')) as [number]
  return {
    child,
    port,
    async receipts(): Promise<string[]> {
      child.send('receipts')
      const [receipts] = (await once(child, 'message')) as [string[]]
      return receipts
    },
  }
}
