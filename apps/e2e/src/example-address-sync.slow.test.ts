/** Runs `examples/address-sync` as its README says, with the key that it creates for itself. */
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { parseEnv } from 'node:util'
import { findFreePort } from '@rapport/embedded-postgres/free-port.ts'
import type { StartedProcess } from '@rapport/testing/processes/processes.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runExample, startExample } from './run-example.ts'
import { type Stack, startStack, timeoutMs } from './stack.ts'

const name = 'address-sync'
const folder = mkdtempSync(join(tmpdir(), 'rapport-address-sync-'))
let stack: Stack
let key: string
let env: Record<string, string>
beforeAll(async () => {
  stack = await startStack('postgres', { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8,::1/128' })
  key = (await stack.api.createWorkspace()).key
  env = { PORT: String(await findFreePort()), DATA_DIR: folder }
})
afterAll(async () => {
  await stack.close()
  rmSync(folder, { recursive: true })
})

const connect = () => runExample(name, { apiUrl: stack.api.url, key, script: 'connect', env })
/** Without the key of the ADMIN. */
const start = () => startExample(name, { apiUrl: stack.api.url, env }, /Waiting for changed addresses/)
const readVariables = () => parseEnv(readFileSync(join(folder, 'rapport.env'), 'utf8'))

async function change(externalId: string, fields: object) {
  const { status } = await stack.api.call('PUT', '/contacts', { key, body: { externalId, ...fields } })
  expect(status).toBe(200)
}

function readProduct(query: string): unknown[] {
  const db = new DatabaseSync(join(folder, 'product.db'), { readOnly: true })
  const rows = db.prepare(query).all()
  db.close()
  return rows.map((row) => ({ ...row }))
}
const readEmails = () => readProduct('select email from customers order by id')
const readFormer = () => readProduct('select customer_id, email from former_emails order by customer_id, email')

const waitForLine = (started: StartedProcess, text: string) =>
  waitUntil(() => started.stdout().includes(text), {
    describe: () => `"${text}" is in:\n${started.stdout()}${started.stderr()}`,
    timeoutMs,
  })

async function stop(started: StartedProcess) {
  started.kill('SIGTERM')
  expect(await started.exited).toEqual({ code: 0, signal: null })
}

async function readDeliveries() {
  const { body } = await stack.api.call<{ data: { id: string; status: string; eventType: string }[] }>(
    'GET',
    `/webhooks/${readVariables()['WEBHOOK_ID']}/deliveries?limit=100`,
    { key },
  )
  return body.data
}

/** Sends an event as Rapport would, and returns the status of the response. */
async function send(event: { id: string; type?: string; data?: object }, secret: string): Promise<number> {
  const [sentAt, body] = [new Date(), JSON.stringify(event)]
  const headers = {
    'webhook-id': event.id,
    'webhook-timestamp': String(Math.floor(sentAt.getTime() / 1_000)),
    'webhook-signature': new Webhook(secret).sign(event.id, sentAt, body),
  }
  return (await fetch(`http://localhost:${env['PORT']}/webhooks`, { method: 'POST', headers, body })).status
}

test('the address sync gets changed addresses, and no event of another field', async () => {
  expect(await connect()).toContain('Connected')
  const sync = await start()
  await change('cus_1', { firstName: 'Ada', tags: ['vip'] })
  await change('cus_1', { email: 'ada.lovelace@example.com' })
  await change('cus_2', { lastName: 'Hopper' })
  await waitForLine(sync, 'cus_1: ada@example.com → ada.lovelace@example.com\n')
  expect(readEmails().slice(0, 2)).toEqual([{ email: 'ada.lovelace@example.com' }, { email: 'grace@example.com' }])
  expect(readFormer()).toEqual([{ customer_id: 'cus_1', email: 'ada@example.com' }])
  // Three updates, one of which changed an address.
  expect(await readDeliveries()).toMatchObject([{ eventType: 'contact.updated' }])
  await stop(sync)
})

test('the address sync catches up after a downtime, each event once, in any order', async () => {
  await change('cus_3', { email: 'radia.perlman@example.com' })
  await change('cus_3', { email: 'radia@example.org' })
  const failed = async () => (await readDeliveries()).filter(({ status }) => status === 'FAILED').length
  await waitUntil(async () => (await failed()) === 2, { describe: 'two deliveries have failed', timeoutMs })

  const sync = await start()
  expect(sync.stdout()).toContain('2 failed deliveries are sent again.')
  const finished = async () => (await readDeliveries()).filter(({ status }) => status === 'SUCCEEDED').length
  await waitUntil(async () => (await finished()) === 3, { describe: 'they are delivered', timeoutMs })
  expect(readEmails()[2]).toEqual({ email: 'radia@example.org' })
  const former = readFormer()
  expect(former).toHaveLength(3)

  // All events again, as a person may wish.
  const { WEBHOOK_ID: id, WEBHOOK_SECRET: secret = '' } = readVariables()
  await stack.api.call('POST', `/webhooks/${id}/redeliver`, { key, body: { status: 'SUCCEEDED' } })
  await waitUntil(async () => (await finished()) === 6, { describe: 'they are delivered again', timeoutMs })
  await waitForLine(sync, 'cus_3: unchanged')
  const data = { id: 'con_1', externalId: 'cus_3', email: 'old@example.com', updatedAt: '2026-01-01T00:00:00.000Z' }
  expect(await send({ id: 'evt_1', type: 'contact.updated', data: { ...data, changes: null } }, secret)).toBe(204)
  expect(await send({ id: 'evt_2' }, `whsec_${'A'.repeat(32)}`)).toBe(400)
  expect([readEmails()[2], readFormer()]).toEqual([{ email: 'radia@example.org' }, former])
  await stop(sync)
})

test('a disabled webhook ends the address sync; connect enables it, keeping addresses', async () => {
  await stack.api.call('PATCH', `/webhooks/${readVariables()['WEBHOOK_ID']}`, { key, body: { enabled: false } })
  const started = runExample(name, { apiUrl: stack.api.url, env })
  await expect(started).rejects.toThrow(/^address-sync exited with code 1:\nThe webhook is disabled, .+ Run "connect"/)
  await change('cus_2', { email: 'grace.hopper@example.com' })
  expect(await connect()).toContain('Connected')
  const { body } = await stack.api.call<{ data: { email: string }[] }>('GET', '/contacts?externalId=cus_2', { key })
  expect(body.data).toMatchObject([{ email: 'grace.hopper@example.com' }])
  await stop(await start())
})

test('the key of the address sync can ask for deliveries, and nothing else', async () => {
  const { RAPPORT_API_KEY: own = '', WEBHOOK_ID: id } = readVariables()
  // It contains the secrets.
  expect(statSync(join(folder, 'rapport.env')).mode & 0o777).toBe(0o600)
  const statusOf = async (method: string, path: string, body?: object) =>
    (await stack.api.call(method, path, { key: own, body })).status
  expect(await statusOf('POST', `/webhooks/${id}/redeliver`, {})).toBe(202)
  const others = [
    await statusOf('GET', '/contacts'),
    await statusOf('GET', '/events'),
    await statusOf('GET', `/webhooks/${id}`),
    await statusOf('POST', '/webhooks', { url: 'https://example.com', eventTypes: ['*'] }),
    await statusOf('POST', `/webhooks/${id}/rotate-secret`),
    await statusOf('POST', '/api-keys', { name: 'Other' }),
  ]
  expect(others).toEqual(Array(6).fill(403))

  expect(await connect()).toContain('Connected')
  expect(await statusOf('GET', '/auth/me')).toBe(401)
  expect(readVariables()['WEBHOOK_ID']).toBe(id)
})
