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

async function compareSpeed(installation: Installation, sender: Sender, options: Options & { sinkPort: number }) {
  const count = options.quick ? 500 : 20_000
  const listId = await createList(installation, sender, { name: 'reader', count })

  async function sendBare(): Promise<number> {
    const parameters = [String(options.sinkPort), String(count)]
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

  const rates = await measureRounds(options, { one: sendWith(1), two: sendWith(2), bare: sendBare }, { warmUp: false })
  const name = `campaign of ${Math.round(newsletter.length / 1000)} KB to ${count.toLocaleString('en')}`
  return [
    {
      name,
      unit: 'mails/s',
      values: rates.one,
      baseline: { name: 'bare nodemailer pool', values: rates.bare },
      target: { atLeast: 0.6 },
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
