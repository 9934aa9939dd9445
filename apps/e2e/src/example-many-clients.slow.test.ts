/** The example `examples/many-clients`: clients of one installation, each under a name of its own. */
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { startNameServer } from '@rapport/testing/network/name-server.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { addConfirmedSubscribers } from './campaign-recipients.ts'
import { runExample } from './run-example.ts'
import { judgeMails } from './sending-domain.ts'
import { type Stack, startStack, timeoutMs } from './stack.ts'

const root = resolve(import.meta.dirname, '../../..')
const listed = JSON.parse(readFileSync(join(root, 'examples/many-clients/clients.json'), 'utf8')) as object[]
const saveClients = (clients: object[]) => writeFileSync(join(folder, 'clients.json'), JSON.stringify(clients))
let stack: Stack
let folder: string
let dns: Awaited<ReturnType<typeof startNameServer>>
beforeAll(async () => {
  dns = await startNameServer({ denyUnknown: true })
  stack = await startStack('postgres', {
    PUBLIC_URL: 'https://crm.invalid',
    SIGN_UP: 'closed',
    REQUIRE_VERIFIED_DOMAIN: 'true',
    DNS_SERVER: dns.address,
  })
  folder = mkdtempSync(join(tmpdir(), 'rapport-clients-'))
  saveClients(listed.slice(0, 1))
})
afterAll(async () => {
  await stack.close()
  dns.close()
  rmSync(folder, { recursive: true })
})

const run = (script: string) =>
  runExample('many-clients', {
    apiUrl: stack.api.url,
    script,
    env: { ...stack.env, DATA_DIR: folder, CLIENTS: join(folder, 'clients.json') },
  })

test('a client gets from nothing to a signed newsletter, and is named for bounces', async () => {
  const { api, inbox, database } = stack
  const printed = await run('set-up')
  expect(await run('set-up')).toBe(printed)
  expect((await database.pool.query('select name from workspaces')).rows).toEqual([{ name: 'Analytical Engines' }])
  expect(await run('check')).toMatch(/engines: engines\.example is (PENDING|FAILED)\n {2}\S/)
  for (const [, name = '', type, value = ''] of printed.matchAll(/^ {2}(\S+) {2}(TXT|CNAME) {2}(.+)$/gm)) {
    if (type === 'TXT') dns.setTextRecords(name, value)
    else dns.setAlias(name, value)
  }
  expect(await run('check')).toContain('engines: engines.example is VERIFIED')

  const key = readFileSync(join(folder, 'engines.key'), 'utf8')
  const [, workspaceId = ''] = /^engines: (wsp_\w+)$/m.exec(printed) ?? []
  const list = await api.call<{ id: string }>('POST', '/lists', { key, body: { name: 'News' } })
  await addConfirmedSubscribers(database, { workspaceId, listId: list.body.id }, 1)
  await api.call('PATCH', '/workspace', { key, body: { postalAddress: '12 Dorset Street, London' } })
  const sendNews = async (subject: string) => {
    const body = { name: 'News', subject, html: '<p>News</p>', listId: list.body.id }
    const { body: campaign } = await api.call<{ id: string }>('POST', '/campaigns', { key, body })
    expect((await api.call('POST', `/campaigns/${campaign.id}/send`, { key, body: {} })).status).toBe(202)
    return inbox.waitFor((mail) => mail.subject === subject)
  }
  // The worker, which has sent the invite of the owner, knows the new host within five seconds.
  let mail = await sendNews('News')
  const isAtHost = async () => {
    mail = await sendNews(`News at ${Date.now()}`)
    return /^List-Unsubscribe:\s+<https:\/\/news\.engines\.example\//im.test(mail.raw.toString())
  }
  await waitUntil(isAtHost, { describe: 'links are at the host of the client', timeoutMs })
  expect(await judgeMails([mail], dns)).toMatchObject([{ dkim: 'pass', dmarc: 'pass', domain: 'engines.example' }])

  await database.pool.query('update campaign_batches set sent = 600, complained = 1')
  expect(await run('watch')).toBe('')
  await database.pool.query('update campaign_batches set sent = 1000, bounced = 80')
  const command = `rapport workspace suspend ${workspaceId}`
  expect(await run('watch')).toBe(`Analytical Engines: 8.00 % bounced, 0.00 % spam\n  ${command}\n`)
  const createContact = async () => {
    const response = await api.call('POST', '/contacts', { key, body: { email: `${Date.now()}@example.com` } })
    return response.status
  }
  expect(await createContact()).toBe(201)
  await promisify(execFile)('bash', ['-c', command], {
    env: { ...stack.env, PATH: `${root}/bin:/usr/local/bin:/usr/bin:/bin` },
  })
  expect(await createContact()).toBe(403)
  expect(await run('watch')).toBe('')
})

test('a suspended client is named, and keeps no other from its set-up', async () => {
  await stack.database.pool.query('update workspaces set suspended_at = now()')
  const [engines, looms] = listed
  const moved = { ...engines, host: 'mail.engines.example' }
  saveClients([moved, looms ?? {}])
  const failure = /code 1:[^]*\nlooms: wsp_\w+\n {2}[^]*\nengines: PermissionError: .*suspended/
  await expect(run('set-up')).rejects.toThrow(failure)
  await expect(run('check')).rejects.toThrow(/code 1:[^]*looms: looms\.example is [^]*\nengines: PermissionError/)
  await stack.database.pool.query('update workspaces set suspended_at = null')
  saveClients([moved])
  expect(await run('set-up')).toMatch(/^ {2}mail\.engines\.example {2}CNAME /m)
})
