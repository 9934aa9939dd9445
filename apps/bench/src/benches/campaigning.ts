import { generateKeyPairSync } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { createCampaign, createList, send, type Sender, startMailSink, waitForEnd } from '../campaigns.ts'
import { type Bench, type Figure, type Options, measureRounds } from '../measurements.ts'
import { type Installation, withInstallation } from '../installation.ts'
import { newsletter } from '../newsletter.ts'
import { stopProcess, receiveMessage, readMemoryMb } from '../processes.ts'

export const campaigning: Bench = {
  about: 'Sending a campaign and the memory of the worker; baseline: a nodemailer pool; two workers compared with one',
  measure: (options) =>
    withInstallation(async (installation) => {
      await installation.startRedis()
      const sink = await startMailSink(installation)
      options.log(`mail server: ${sink.name}`)
      const sender = { api: await installation.startApi(), workspace: await installation.createWorkspace() }
      return [
        ...(await compareSpeed(installation, sender, { ...options, sinkPort: sink.port })),
        await compareMemory(installation, sender, options),
      ]
    }),
}

/** Workers that are started with it sign all emails. */
const signing = {
  DKIM_DOMAIN: 'example.com',
  DKIM_SELECTOR: 'bench',
  DKIM_PRIVATE_KEY: generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({
    type: 'pkcs8',
    format: 'pem',
  }),
}

async function compareSpeed(installation: Installation, sender: Sender, options: Options & { sinkPort: number }) {
  const count = options.quick ? 500 : 20_000
  const listId = await createList(installation, sender, { name: 'reader', count })

  const sendBare = (kind: 'prebuilt' | 'composed' | 'signed') => async (): Promise<number> => {
    const parameters = [String(options.sinkPort), String(count), kind]
    const child = installation.processes.fork('bare-mailer.ts', { parameters })
    const { tookMs } = await receiveMessage<{ tookMs: number }>(child)
    return (count / tookMs) * 1000
  }

  const sendWith = (workerCount: number) => async () => {
    const workers = await Promise.all(Array.from({ length: workerCount }, () => installation.startWorker()))
    await sleep(2_000)
    const id = await createCampaign(sender, listId)
    await send(sender, id)
    const perSecond = await waitForEnd(sender, id)
    await Promise.all(workers.map((worker) => stopProcess(worker)))
    return perSecond
  }

  async function sendSigned(): Promise<number> {
    Object.assign(installation.environment, signing)
    const rate = await sendWith(1)()
    for (const name of Object.keys(signing)) delete installation.environment[name]
    return rate
  }

  const sides = {
    one: sendWith(1),
    two: sendWith(2),
    composed: sendBare('composed'),
    prebuilt: sendBare('prebuilt'),
    signed: sendSigned,
    'composed and signed': sendBare('signed'),
  }
  const rates = await measureRounds(options, sides, { warmUp: false })
  const name = `campaign of ${Math.round(newsletter.length / 1000)} KB to ${count.toLocaleString('en')}`
  return [
    {
      name,
      unit: 'mails/s',
      values: rates.one,
      baseline: { name: 'nodemailer pool that composes the same mail', values: rates.composed },
      target: { atLeast: 0.8 },
    },
    {
      name,
      unit: 'mails/s',
      values: rates.one,
      baseline: { name: 'nodemailer pool, prebuilt messages', values: rates.prebuilt },
    },
    {
      name: `${name}, signed with DKIM`,
      unit: 'mails/s',
      values: rates.signed,
      baseline: { name: 'nodemailer pool that composes and signs the same mail', values: rates['composed and signed'] },
    },
    {
      name: `${name}, two workers`,
      unit: 'mails/s',
      values: rates.two,
      baseline: { name: 'one worker', values: rates.one },
      target: { atLeast: 1.5 },
    },
  ]
}

async function compareMemory(installation: Installation, sender: Sender, { quick }: Options): Promise<Figure> {
  const peaks: number[] = []
  const counts = quick ? [100, 1_000] : [2_000, 200_000]
  for (const count of counts) {
    const listId = await createList(installation, sender, { name: `memory${count}`, count })
    const worker = await installation.startWorker()
    await sleep(2_000)
    const id = await createCampaign(sender, listId)
    await send(sender, id)
    await waitForEnd(sender, id)
    peaks.push(await readMemoryMb(worker))
    await stopProcess(worker)
  }
  return {
    name: `worker's peak memory, campaign to ${counts[1]?.toLocaleString('en')}`,
    unit: 'MB',
    values: peaks.slice(1),
    baseline: { name: `to ${counts[0]?.toLocaleString('en')}`, values: peaks.slice(0, 1) },
    target: { atMost: 1.2 },
  }
}
