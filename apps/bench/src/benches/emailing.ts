import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { uuidOf } from '@rapport/core/kernel/ids.ts'
import { createCampaign, createList, send, type Sender, waitForEnd } from '../campaigns.ts'
import { call, type Installation, withInstallation } from '../installation.ts'
import { type Bench, type Figure, median, measureRounds, type Options, quantile } from '../measurements.ts'
import { receiveMessage, waitUntil } from '../processes.ts'
import { receiptLines, receiptTemplate } from '../receipt.ts'

interface Setup extends Options {
  installation: Installation
  sender: Sender
  sink: Awaited<ReturnType<Installation['startSink']>>
  templateId: string
}

const stallingDomain = 'stalling.example'

export const emailing: Bench = {
  about:
    'Emails to one person: per second, and from commit to DATA alone, beside a campaign, and while the mail server hangs; baseline: nodemailer',
  measure: (options) =>
    withInstallation(async (installation) => {
      Object.assign(installation.environment, { QUOTA_EMAILS: '0', QUOTA_EMAILS_PENDING: '0' })
      await installation.startRedis()
      const sink = await installation.startSink({ stallingDomain })
      const sender = { api: await installation.startApi(), workspace: await installation.createWorkspace() }
      await installation.startWorker()
      const setup = { ...options, installation, sender, sink, templateId: await createTemplate(sender) }
      return [
        ...(await compareRates(setup)),
        await compareLatency(setup),
        await measureBesideCampaign(setup),
        // The last one: the emails at which the server hangs are tried again for hours.
        await measureBesideStalling(setup),
      ]
    }),
}

const createTemplate = async ({ api, workspace }: Sender) =>
  (await call<{ id: string }>(api, workspace.key, ['POST /templates', receiptTemplate])).id

const inputTo = ({ templateId }: Pick<Setup, 'templateId'>, email: string) => ({
  templateId,
  to: { email },
  data: { name: 'Ada', lines: receiptLines },
})

async function compareRates(setup: Setup): Promise<Figure[]> {
  const { installation, sender, sink, quick } = setup
  const count = quick ? 300 : 5_000
  const { api, workspace } = sender

  /** Accepts all, and waits until the last outcome is recorded. */
  async function sendAll(accept: (emails: object[]) => Promise<unknown>): Promise<number> {
    const run = randomUUID()
    const emails = Array.from({ length: count }, (_, n) => inputTo(setup, `person-${n}-${run}@example.com`))
    const startedAt = performance.now()
    await accept(emails)
    await installation.waitUntilDone()
    const tookMs = performance.now() - startedAt
    const arrived = (await sink.takeArrivals()).length
    if (arrived !== count) throw new Error(`${arrived} of ${count} emails arrived`)
    return (count / tookMs) * 1000
  }

  const single = () =>
    sendAll(async (emails) => {
      const waiting = [...emails]
      const sendNext = async () => {
        for (let one = waiting.pop(); one; one = waiting.pop()) await call(api, workspace.key, ['POST /emails', one])
      }
      await Promise.all(Array.from({ length: 20 }, sendNext))
    })
  const batches = () =>
    sendAll(async (emails) => {
      for (let first = 0; first < count; first += 100)
        await call(api, workspace.key, ['POST /emails/batch', { emails: emails.slice(first, first + 100) }])
    })
  async function bare(): Promise<number> {
    const child = installation.processes.fork('bare-composer.ts', { parameters: [String(sink.port), String(count)] })
    const { tookMs } = await receiveMessage<{ tookMs: number }>(child)
    await sink.takeArrivals()
    return (count / tookMs) * 1000
  }

  const rates = await measureRounds(setup, { single, batches, bare })
  const baseline = { name: 'nodemailer pool that composes the same email', values: rates.bare }
  return [
    { name: 'emails to one person, a call each', unit: 'mails/s', values: rates.single, baseline },
    { name: 'emails to one person, in batches of 100', unit: 'mails/s', values: rates.batches, baseline },
  ]
}

/** Sends emails at a steady rate. Returns the times from each response, which follows the commit, to DATA. */
async function measureLatencies(setup: Setup, { count, everyMs }: { count: number; everyMs: number }) {
  const { installation, sender, sink } = setup
  const { api, workspace } = sender
  const committedAt = new Map<string, bigint>()
  await sink.takeArrivals()
  for (let n = 0; n < count; n += 1) {
    const email = `latency-${randomUUID()}@example.com`
    await call(api, workspace.key, ['POST /emails', inputTo(setup, email)])
    committedAt.set(email, process.hrtime.bigint())
    await sleep(everyMs)
  }
  await waitUntil(async () => {
    const pending = `select from emails where workspace_id = $1 and status = 'PENDING' limit 1`
    return (await installation.client.query(pending, [uuidOf(workspace.ctx.workspaceId)])).rowCount === 0
  })
  const times = (await sink.takeArrivals()).flatMap(([email, dataAt]) => {
    const startedAt = committedAt.get(email)
    return startedAt === undefined ? [] : [Number(BigInt(dataAt) - startedAt) / 1e6]
  })
  if (times.length !== count) throw new Error(`${times.length} of ${count} emails arrived`)
  return times
}

async function compareLatency(setup: Setup): Promise<Figure> {
  const { client } = setup.installation
  const count = setup.quick ? 20 : 200
  await client.query('create table bare (id uuid primary key, value jsonb not null)')

  async function insert(): Promise<number> {
    const times: number[] = []
    for (let n = 0; n < count; n += 1) {
      const startedAt = performance.now()
      await client.query('insert into bare values ($1, $2)', [randomUUID(), JSON.stringify(receiptLines)])
      times.push(performance.now() - startedAt)
      await sleep(10)
    }
    return median(times)
  }

  const email = async () => median(await measureLatencies(setup, { count, everyMs: 40 }))
  const times = await measureRounds(setup, { email, insert })
  return {
    name: 'emails to one person, from the response to DATA, p50',
    unit: 'ms',
    values: times.email,
    baseline: { name: 'bare INSERT', values: times.insert },
    target: { atMost: 7 },
  }
}

async function measureBesideCampaign(setup: Setup): Promise<Figure> {
  const { installation, sender, quick } = setup
  const people = quick ? 500 : 20_000
  const listId = await createList(installation, sender, { name: 'reader', count: people })
  async function besideCampaign(): Promise<number> {
    const id = await createCampaign(sender, listId)
    await send(sender, id)
    const times = await measureLatencies(setup, { count: quick ? 20 : 200, everyMs: 40 })
    await waitForEnd(sender, id)
    return quantile(times, 0.99)
  }
  const { email } = await measureRounds(setup, { email: besideCampaign }, { warmUp: false })
  return {
    name: `emails to one person beside a campaign to ${people.toLocaleString('en')}, from the response to DATA, p99`,
    unit: 'ms',
    values: email,
    target: { atMost: 1_000 },
  }
}

/** More than the worker has connections. */
const stallingCount = 90

async function measureBesideStalling(setup: Setup): Promise<Figure> {
  const { installation, sender, quick } = setup
  const other = { ...sender, workspace: await installation.createWorkspace() }
  const templateId = await createTemplate(other)
  async function besideStalling(): Promise<number> {
    // A job sends one email first, and takes several at once if that one was sent.
    const domains = [
      ...Array.from({ length: 10 }, () => 'example.com'),
      ...Array.from({ length: stallingCount }, () => stallingDomain),
    ]
    const emails = domains.map((domain) => inputTo({ templateId }, `${randomUUID()}@${domain}`))
    await call(sender.api, other.workspace.key, ['POST /emails/batch', { emails }])
    // Time for the worker to use all connections that it gives to the other workspace.
    await sleep(1_000)
    return quantile(await measureLatencies(setup, { count: quick ? 20 : 200, everyMs: 40 }), 0.99)
  }
  const { email } = await measureRounds(setup, { email: besideStalling }, { warmUp: false })
  return {
    name: `emails to one person while the mail server hangs at ${stallingCount} of another workspace, from the response to DATA, p99`,
    unit: 'ms',
    values: email,
    target: { atMost: 1_000 },
  }
}
