/**
 * `pnpm bench --guard`: the processor time of the seven busiest paths, each as a multiple of the same work without
 * Rapport. A ratio of processor times varies less between machines than a rate, so the limits are a third
 * above what was measured: on 2026-11-26, and page, deal and events on 2026-11-29.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { idOf } from '@rapport/core/kernel/ids.ts'
import { contactCreated } from '@rapport/core/contacts/contact-events.ts'
import { emitMany } from '@rapport/core/events/emit.ts'
import { createWebhook } from '@rapport/core/operations/webhooks/save-webhook.ts'
import { copyContactsToBare, createBareTables } from './baseline.ts'
import { runPostLoop } from './bare-posts.ts'
import { createCampaign, createList, send, type Sender, startMailSink, waitForEnd } from './campaigns.ts'
import { insertContacts, pickContactIds } from './contacts.ts'
import { drain, exampleContact, type Receiver } from './deliveries.ts'
import { call, type Installation, type Server, withInstallation } from './installation.ts'
import type { Load } from './load.ts'
import { type Bench, type Figure, measureRounds, type Options } from './measurements.ts'
import { createMeter } from './metering.ts'
import { readCpuMs, receiveMessage, stopProcess } from './processes.ts'

/** The most that a path may cost, in times of the baseline. Measured: 2.14, 2.53, 2.5, 2.15, 2.73, 1.98 and 1.99. */
const limits = { create: 2.9, page: 3.3, deal: 3.3, events: 2.9, form: 3.7, delivery: 2.7, mail: 2.7 }

export const guard: Bench = {
  about: 'The processor time of seven hot paths, as a multiple of the same work without Rapport',
  measure: (options) =>
    withInstallation(async (installation) => {
      await installation.startRedis()
      return [
        ...(await measureRequests(installation, options)),
        await measureDeliveries(installation, options),
        await measureMails(installation, options),
      ]
    }),
}

async function measureRequests(installation: Installation, options: Options): Promise<Figure[]> {
  const [reader, writer] = [await installation.createWorkspace(), await installation.createWorkspace()]
  await insertContacts(installation, reader, options.quick ? 1_000 : 30_000)
  await createBareTables(installation.client)
  await copyContactsToBare(installation.client)
  const contactIds = (await pickContactIds(installation, 1_000)).map((uuid) => idOf('con', uuid))
  const [api, bare] = [await installation.startApi(), await installation.startBare()]
  const form = { name: 'Contact us', fields: [{ label: 'Email', type: 'EMAIL', required: true, mapsTo: 'email' }] }
  const { id } = await call<{ id: string }>(api, reader.key, ['POST /forms', form])
  const bytes = await (await fetch(`${api.url}/public/forms/${id}`)).text()
  await call(bare, '', ['PUT /bytes', { bytes }])

  const meter = createMeter(installation.startLoadGenerator(), { forMs: options.quick ? 300 : 3_000, perSecond: 200 })
  const get = (path: string): Omit<Load, 'urls'> => ({ requests: [{ method: 'GET', path }] })
  const post = (path: string): Omit<Load, 'urls'> => ({
    requests: [{ method: 'POST', path, body: { email: 'new{n}@example.com', firstName: 'Ada', lastName: 'King' } }],
  })
  const figures: Figure[] = []
  const measure = async (
    path: keyof typeof limits,
    name: string,
    loads: [ours: Omit<Load, 'urls'>, bare: Omit<Load, 'urls'>],
  ) => {
    await measureRounds(options, {
      ours: meter.rate(path, api, loads[0]),
      bare: meter.rate(`bare ${path}`, bare, loads[1]),
    })
    const figure = meter.cpuCostFigure(name, path, { name: 'bare', side: `bare ${path}` })
    figures.push({ ...figure, target: { atMost: limits[path] } })
  }
  await measure('create', 'POST /contacts', [{ ...post('/contacts'), key: writer.key }, post('/bare_contacts')])
  await measure('page', 'GET /contacts?limit=50', [
    { ...get('/contacts?limit=50'), key: reader.key },
    get('/bare_contacts'),
  ])
  const { data } = await call<{ data: { id: string }[] }>(api, reader.key, ['GET /pipelines'])
  const deals = contactIds.map((contactId) => {
    const body = { pipelineId: data[0]?.id, contactId, name: 'Deal {n}', valueCents: 4200 }
    return { method: 'POST' as const, path: '/deals', body }
  })
  await measure('deal', 'POST /deals', [{ requests: deals, key: reader.key }, post('/bare_contacts')])
  // Those of the deals.
  await measure('events', 'GET /events?limit=50', [
    { ...get('/events?limit=50'), key: reader.key },
    get('/bare_contacts'),
  ])
  await measure('form', 'GET /public/forms/{id}', [get(`/public/forms/${id}`), get('/bytes')])
  await Promise.all([api, bare].map(({ child }) => stopProcess(child)))
  return figures
}

async function measureDeliveries(installation: Installation, options: Options): Promise<Figure> {
  const count = options.quick ? 500 : 5_000
  const receiver: Receiver = await installation.startReceiver()
  const { ctx } = await installation.createWorkspace()
  await createWebhook(ctx, { url: receiver.url, eventTypes: ['*'] })
  const worker = await installation.startWorker()
  const records = Array.from({ length: 500 }, () => exampleContact)
  const fill = async () => {
    for (let n = 0; n < count; n += records.length) await emitMany(ctx, contactCreated, records)
  }
  const costs = await measureRounds(options, {
    async ours() {
      const before = await readCpuMs(worker)
      await drain(installation, receiver, { workers: [worker], fill, count })
      return (((await readCpuMs(worker)) - before) * 1_000) / count
    },
    async bare() {
      const before = process.cpuUsage()
      await runPostLoop(receiver, { count, connections: 'fresh' })
      const { user, system } = process.cpuUsage(before)
      return (user + system) / count
    },
  })
  await stopProcess(worker)
  return {
    name: 'a delivery of a backlog, processor time of the worker',
    unit: 'µs',
    values: costs.ours,
    baseline: { name: 'POST on a new connection', values: costs.bare },
    target: { atMost: limits.delivery },
  }
}

async function measureMails(installation: Installation, options: Options): Promise<Figure> {
  const count = options.quick ? 200 : 3_000
  const sink = await startMailSink(installation)
  const api: Server = await installation.startApi()
  const sender: Sender = { api, workspace: await installation.createWorkspace() }
  const listId = await createList(installation, sender, { name: 'reader', count })
  const worker = await installation.startWorker()
  const costs = await measureRounds(options, {
    async ours() {
      await sleep(1_000)
      const before = await readCpuMs(worker)
      const id = await createCampaign(sender, listId)
      await send(sender, id)
      await waitForEnd(sender, id)
      return (((await readCpuMs(worker)) - before) * 1_000) / count
    },
    async bare() {
      const parameters = [String(sink.port), String(count), 'prebuilt']
      const child = installation.processes.fork('bare-mailer.ts', { parameters })
      const { cpuMs } = await receiveMessage<{ tookMs: number; cpuMs: number }>(child)
      return (cpuMs * 1_000) / count
    },
  })
  return {
    name: 'a mail of a campaign, processor time of the worker',
    unit: 'µs',
    values: costs.ours,
    baseline: { name: 'nodemailer pool, prebuilt message', values: costs.bare },
    target: { atMost: limits.mail },
  }
}
