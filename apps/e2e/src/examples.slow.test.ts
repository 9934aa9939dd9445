import { once } from 'node:events'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { findFreePort } from '@rapport/embedded-postgres/free-port.ts'
import { checkAppearance, findBrowserSkipReason, launchBrowser } from '@rapport/testing/browser/browser.ts'
import type { StartedProcess } from '@rapport/testing/processes/processes.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { runExample, startExample } from './run-example.ts'
import { type Stack, startStack, timeoutMs } from './stack.ts'

let stack: Stack
let settings: { apiUrl: string; key: string }
beforeAll(async () => {
  // The networks that `pnpm start` allows: "localhost" may be either.
  stack = await startStack('postgres', { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8,::1/128' })
})
beforeEach(async () => {
  const { key } = await stack.api.createWorkspace()
  settings = { apiUrl: stack.api.url, key }
})
afterAll(() => stack.close())

async function get<Body>(path: string): Promise<Body> {
  const { body } = await stack.api.call<Body>('GET', path, { key: settings.key })
  return body
}

async function post(path: string, body: object = {}): Promise<{ id: string }> {
  const { status, body: created } = await stack.api.call<{ id: string }>('POST', path, { key: settings.key, body })
  expect(status).toBeLessThan(300)
  return created
}

/** A receiver with a folder and a port of its own. */
async function createReceiver() {
  const folder = mkdtempSync(join(tmpdir(), 'rapport-receiver-'))
  const port = await findFreePort()
  const url = `http://localhost:${port}`
  const file = join(folder, 'receiver.db')
  const env = { PORT: String(port), DATA_DIR: folder }
  const readTotal = async (type = 'contact.created') => {
    const response = await fetch(url)
    return ((await response.json()) as Record<string, number>)[type] ?? 0
  }
  return {
    port,
    file,
    start: () => startExample('webhook-receiver', { ...settings, env }, /Verified events arrive/),
    readTotal,
    waitForTotal: (total: number) =>
      waitUntil(async () => (await readTotal()) >= total, { describe: `${total} events are handled`, timeoutMs }),
    /** Sends an event that the feed does not have. Returns the status of the response. */
    async send(secret: string) {
      const sentAt = new Date()
      const body = '{"id":"evt_1","type":"deal.won","data":{}}'
      const headers = {
        'content-type': 'application/json',
        'webhook-id': 'evt_1',
        'webhook-timestamp': String(Math.floor(sentAt.getTime() / 1_000)),
        'webhook-signature': new Webhook(secret).sign('evt_1', sentAt, body),
      }
      return (await fetch(`${url}/webhooks`, { method: 'POST', headers, body })).status
    },
    readSecret() {
      const db = new DatabaseSync(file, { readOnly: true })
      const row = db.prepare("select value from settings where name = 'secret'").get()
      db.close()
      return String(row?.['value'])
    },
    remove: () => rmSync(folder, { recursive: true }),
  }
}

/** The line may arrive after the response that shows its effect. */
const waitForLine = (started: StartedProcess, text: string) =>
  waitUntil(() => started.stdout().includes(text), {
    describe: () => `"${text}" is in:\n${started.stdout()}`,
    timeoutMs,
  })

async function createContacts(numbers: number[]) {
  const body = (number: number) => ({ email: `contact-${number}@example.com` })
  await Promise.all(numbers.map((number) => post('/contacts', body(number))))
}

/** Waits until the webhook of the receiver has at least so many deliveries, and each of them has ended. */
async function waitForDeliveries(count: number) {
  const [webhook] = (await get<{ data: { id: string }[] }>('/webhooks')).data
  const readStatuses = async () => {
    const { data } = await get<{ data: { status: string }[] }>(`/webhooks/${webhook?.id}/deliveries?limit=100`)
    return data.map(({ status }) => status)
  }
  await waitUntil(
    async () => {
      const statuses = await readStatuses()
      return statuses.length >= count && !statuses.includes('PENDING')
    },
    { describe: `${count} deliveries have ended`, timeoutMs },
  )
  return { webhookId: webhook?.id, statuses: await readStatuses() }
}

/** Delivers every event again, also those that were delivered successfully. */
async function redeliverAll(count: number) {
  const { webhookId } = await waitForDeliveries(count)
  await post(`/webhooks/${webhookId}/redeliver`, { status: 'SUCCEEDED' })
  await post(`/webhooks/${webhookId}/redeliver`)
  await waitForDeliveries(2 * count)
}

test('the webhook receiver handles each event once, also after it was killed', async () => {
  const receiver = await createReceiver()
  const started = await receiver.start()
  await createContacts([1])
  await receiver.waitForTotal(1)
  expect((await waitForDeliveries(1)).statuses).toEqual(['SUCCEEDED'])
  // The event is from the webhook or from the feed, whichever was faster.
  await waitForLine(started, 'contact.created contact-1@example.com')
  expect(await receiver.send(`whsec_${'A'.repeat(32)}`)).toBe(400)
  expect(await receiver.send(receiver.readSecret())).toBe(204)
  await waitForLine(started, 'deal.won evt_1 (webhook)')
  // It contains the secret.
  expect(statSync(receiver.file).mode & 0o777).toBe(0o600)

  const burst = createContacts(Array.from({ length: 20 }, (_, index) => 2 + index))
  await receiver.waitForTotal(4)
  started.kill('SIGKILL')
  await Promise.all([started.exited, burst])
  await createContacts([100, 101, 102])

  const restarted = await receiver.start()
  await receiver.waitForTotal(24)
  await waitForLine(restarted, 'contact.created contact-102@example.com')
  await redeliverAll(24)
  expect(await receiver.readTotal()).toBe(24)

  restarted.kill('SIGTERM')
  expect(await restarted.exited).toEqual({ code: 0, signal: null })
  receiver.remove()
})

test('the webhook receiver goes on after an event that it cannot handle', async () => {
  const receiver = await createReceiver()
  const started = await receiver.start()
  const db = new DatabaseSync(receiver.file)
  db.exec(
    `insert into received (id, origin, received_at, event) values ('evt_1', 'feed', '2026', '{"type":"contact.created"}')`,
  )
  await createContacts([1])
  await receiver.waitForTotal(1)
  // The handler counted the event before it threw, which was undone.
  expect(await receiver.readTotal()).toBe(1)
  expect(await receiver.readTotal('failed')).toBe(1)
  expect(started.stderr()).toContain('The event evt_1 failed')
  expect(db.prepare('select error from received where id = ?').get('evt_1')).toEqual({ error: expect.any(String) })
  db.close()
  started.kill()
  await started.exited
  receiver.remove()
})

test('the webhook receiver creates no webhook if its port is in use', async () => {
  const receiver = await createReceiver()
  const server = createServer().listen(receiver.port, 'localhost')
  await once(server, 'listening')
  await expect(receiver.start()).rejects.toThrow('The variable PORT sets another port.')
  expect(await get('/webhooks')).toMatchObject({ data: [] })
  server.close()
  receiver.remove()
})

test('the sync creates the contacts and the deal once', async () => {
  // An earlier subscription of an organization, whose person was erased.
  const { data: pipelines } = await get<{ data: { id: string }[] }>('/pipelines')
  const company = await post('/companies', { externalId: 'org_1', name: 'Kay 1' })
  const person = await post('/contacts', { email: 'earlier@example.com' })
  const related = { contactId: person.id, companyId: company.id }
  const earlier = await post('/deals', { pipelineId: pipelines[0]?.id, ...related })
  await stack.api.call('DELETE', `/contacts/${person.id}`, { key: settings.key })

  const printed = await runExample('saas-sync', settings)
  expect(printed).toContain('2000 customers: 1998 created, 0 existing, 2 failed')
  expect(printed).toContain('40 subscriptions: 40 deals created, 20 won, 10 lost')
  expect(printed).toMatch(/cus_1400 ada\.ritchie\.1400@example: email: must be an email address/)
  expect(await get('/contacts?limit=1&count=true')).toMatchObject({ total: 1998 })
  const readNewest = async () => (await get<{ data: { type: string }[] }>('/events?limit=1')).data
  await expect.poll(readNewest).toMatchObject([{ type: 'deal.won' }])
  const newest = await readNewest()

  expect(await runExample('saas-sync', settings)).toContain('0 created, 1998 existing, 2 failed')
  expect(await get('/contacts?limit=1&count=true')).toMatchObject({ total: 1998 })
  const deals = await get<{ data: { id: string; status: string; contactId: string; companyId: string }[] }>(
    '/deals?limit=100',
  )
  const count = (status: string) => deals.data.filter((deal) => deal.status === status).length
  expect([deals.data.length, count('WON'), count('OPEN'), count('LOST')]).toEqual([41, 20, 11, 10])
  expect(await get(`/deals/${earlier.id}`)).toMatchObject({ status: 'OPEN', companyId: company.id })
  expect(new Set(deals.data.map(({ companyId }) => companyId)).size).toBe(40)
  expect(await readNewest()).toMatchObject(newest)

  const [customer] = (await get<{ data: { id: string; email: string }[] }>('/contacts?externalId=cus_5')).data
  const body = { email: 'before@example.com' }
  await stack.api.call('PATCH', `/contacts/${customer?.id}`, { key: settings.key, body })
  expect(await runExample('saas-sync', settings)).toContain('0 created, 1998 existing, 2 failed')
  expect(await get('/contacts?externalId=cus_5')).toMatchObject({
    data: [{ id: customer?.id, email: customer?.email }],
  })

  const path = `/deals/${deals.data.find(({ status }) => status === 'WON')?.id}`
  await stack.api.call('PATCH', path, { key: settings.key, body: { status: 'LOST' } })
  expect(await runExample('saas-sync', settings)).toContain('40 subscriptions: 0 deals created, 0 won, 0 lost')
  expect(await get(path)).toMatchObject({ status: 'LOST' })

  const won = deals.data.findLast(({ status }) => status === 'WON')
  await stack.api.call('DELETE', `/contacts/${won?.contactId}`, { key: settings.key })
  const afterErasure = await runExample('saas-sync', settings)
  expect(afterErasure).toContain('1 created, 1997 existing, 2 failed')
  expect(afterErasure).toContain('40 subscriptions: 0 deals created, 0 won, 0 lost')

  // What the sales team does with deals is theirs.
  const pipeline = await post('/pipelines', { name: 'Partners', stages: [{ name: 'New' }] })
  const [, moved, deleted] = deals.data.filter(({ status }) => status === 'WON')
  const move = { pipelineId: pipeline.id, status: 'LOST' }
  await stack.api.call('PATCH', `/deals/${moved?.id}`, { key: settings.key, body: move })
  expect(await runExample('saas-sync', settings)).toContain('40 subscriptions: 0 deals created, 0 won, 0 lost')
  await stack.api.call('DELETE', `/deals/${deleted?.id}`, { key: settings.key })
  const { contactId, companyId } = deleted ?? {}
  const other = await post('/deals', { pipelineId: pipeline.id, contactId, companyId })
  expect(await runExample('saas-sync', settings)).toContain(' 0 won, 0 lost')
  expect(await get(`/deals/${moved?.id}`)).toMatchObject({ status: 'LOST', pipelineId: pipeline.id })
  expect(await get(`/deals/${other.id}`)).toMatchObject({ status: 'OPEN' })
})

test('the CSV import prints the progress and the lines with an error', async () => {
  const printed = await runExample('import-from-csv', settings)
  expect(printed).toContain('COMPLETED 300 rows\n296 created, 0 updated, 0 unchanged, 4 failed\n')
  expect(printed).toContain('line 89: email: is required\n    ,Niklaus,Liskov,North Wind Energy,\n')
  expect(printed.match(/^ {2}line \d+: /gm)).toHaveLength(4)
  expect(await runExample('import-from-csv', settings)).toContain('0 created, 0 updated, 296 unchanged, 4 failed')
})

test.skipIf(findBrowserSkipReason())('the form of the static page creates a submission', async () => {
  const port = await findFreePort()
  const server = await startExample('plain-html', { ...settings, env: { PORT: String(port) } }, /The page is at/)
  const browser = await launchBrowser()
  const page = await browser.newPage()
  await page.goto(`http://localhost:${port}/`)
  await page.getByLabel('First name').fill('Ada')
  await page.getByLabel('Email', { exact: true }).fill('ada@example.com')
  await page.getByLabel('Email me the plant letter').check()
  expect(await checkAppearance(page, 'plain-html')).toEqual([])
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByText('Almost done').waitFor()
  await browser.close()
  server.kill()

  const [form] = (await get<{ data: { id: string }[] }>('/forms')).data
  const { data } = await get<{ data: { values: object }[] }>(`/forms/${form?.id}/submissions`)
  expect(data).toMatchObject([{ values: { 'first-name': 'Ada', email: 'ada@example.com' } }])
  expect(await get('/contacts')).toMatchObject({ data: [{ tags: ['plant-letter'], emailSubscribedStatus: 'PENDING' }] })
})
