/** The `rapport` command with a complete installation. The findings of `rapport doctor` have tests of their own. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { createTestContact, createTestCtx, createTestDeal } from '@rapport/testing/fixtures/factories.ts'
import { runProcess, startCommand, startProcess } from '@rapport/testing/processes/processes.ts'
import { type HttpReceiver, startHttpReceiver, verifySignature } from '@rapport/testing/network/receivers.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startStack, type Stack } from './stack.ts'
import { Id } from '@rapport/core/kernel/ids.ts'

let stack: Stack
let key: string
let workspaceId: string
const directory = mkdtempSync(join(tmpdir(), 'rapport-command-'))
beforeAll(async () => {
  stack = await startStack('redis')
})
beforeEach(async () => {
  ;({ key, workspaceId } = await stack.api.createWorkspace())
})
afterAll(async () => {
  rmSync(directory, { recursive: true })
  await stack.close()
})

const script = 'apps/cli/src/main.ts'
/** The environment of an operator, who has access to the database. */
const operatorEnv = () => ({ DATA_DIR: directory, ...stack.env })
/** The environment of a developer, who has an API key only. */
const clientEnv = () => ({ DATA_DIR: directory, RAPPORT_API_URL: stack.api.url, RAPPORT_API_KEY: key })
const run = (env: Record<string, string>, ...parameters: string[]) => runProcess({ script, parameters, env })
const writeTestFile = (name: string, content: string | Buffer) => {
  writeFileSync(join(directory, name), content)
  return join(directory, name)
}

test('workspace create and key create, with entries in the audit log', async () => {
  const created = await run(
    operatorEnv(),
    'workspace',
    'create',
    '--name',
    'Engines',
    '--owner-email',
    'ada@example.com',
  )
  expect(created).toMatchObject({ code: 0, stdout: expect.stringMatching(/^wsp_\w+\n$/) })
  expect(created.stderr).toContain(`rapport key create --workspace ${created.stdout.trim()}`)
  const mail = await stack.inbox.waitFor(({ to }) => to.includes('ada@example.com'))
  const token = /token=([\w.-]+)/.exec(mail.text)?.[1]
  const password = 'a long and secret sentence'
  expect((await stack.api.call('POST', '/auth/accept-invite', { body: { token, password } })).status).toBe(204)
  const login = await stack.api.call<{ token: string; workspace: { name: string } }>('POST', '/auth/login', {
    body: { email: 'ada@example.com', password },
  })
  expect(login.body.workspace.name).toBe('Engines')

  const workspace = created.stdout.trim()
  const keyOptions = ['--workspace', workspace, '--role', 'VIEWER', '--name', 'Site', '--expires', '90d']
  const issued = await run(operatorEnv(), 'key', 'create', ...keyOptions)
  expect(issued).toMatchObject({ code: 0, stdout: expect.stringMatching(/^rpk_\S+\n$/) })
  const me = await stack.api.call('GET', '/auth/me', { key: issued.stdout.trim() })
  expect(me.body).toMatchObject({ role: 'VIEWER', workspace: { id: workspace }, apiKey: { name: 'Site' } })
  const log = await stack.api.call<{ data: { action: string; actor: unknown }[] }>('GET', '/audit-log', {
    key: login.body.token,
  })
  const system = { kind: 'system', id: null }
  expect(log.body.data).toMatchObject([
    { action: 'api_key.created', actor: system },
    { action: 'session.created' },
    { action: 'invite.accepted' },
    { action: 'invite.created', actor: system, details: { role: 'OWNER' } },
    { action: 'workspace.created', actor: system },
  ])
})

test('key create fails for an unknown workspace', async () => {
  const unknown = 'wsp_01kag7m3v9e8fs2t4w6x8y0z1b'
  const create = ['key', 'create', '--name', 'Site', '--workspace', unknown]
  const message = `Workspace ${unknown} not found. "rapport workspace list" lists the ids.`
  const stderr = `${JSON.stringify({ error: { code: 'not_found', message } })}\n`
  expect(await run(operatorEnv(), ...create, '--json')).toEqual({ code: 1, stdout: '', stderr })
})

const rows = 'Email,First Name\nalan@example.com,Alan\ninvalid,Alan\ngrace@example.com,Grace\n'
const goodRows = rows.replace('invalid,Alan\n', '')

test('import waits for the end; failed rows are listed by line and set exit code 1', async () => {
  const partly = await run(clientEnv(), 'import', writeTestFile('people.csv', rows))
  expect(partly.code).toBe(1)
  expect(partly.stderr).toMatch(/^imp_\w+ is queued\.\n/)
  expect(partly.stderr).toContain('\nline 3: email: must be an email address such as ada@example.com\n')
  expect(partly.stdout).toMatch(/^imp_\w+ is complete: 3 processed, 2 created, 0 updated, 0 skipped, 1 failed\n$/)

  const zipped = await run(
    clientEnv(),
    'import',
    writeTestFile('people.csv.gz', gzipSync(goodRows)),
    '--on-conflict',
    'update',
    '--json',
  )
  expect(zipped).toMatchObject({ code: 0 })
  expect(JSON.parse(zipped.stdout)).toMatchObject({ status: 'COMPLETED', processed: 2, skipped: 2 })

  const piped = await startCommand({
    command: 'bash',
    parameters: ['-c', `echo '{"email": "mary@example.com"}' | node ${script} import - --format ndjson --dry-run`],
    env: { ...clientEnv(), PATH: `${dirname(process.execPath)}:/usr/bin:/bin` },
  })
  expect(await piped.exited).toMatchObject({ code: 0 })
  expect(piped.stdout()).toContain('was validated, nothing was written: 1 processed, 1 created')
  const found = await stack.api.call<{ data: unknown[] }>('GET', '/contacts?email=mary@example.com', { key })
  expect(found.body.data).toEqual([])
})

test('import shows the API error for an invalid file', async () => {
  const unknown = await run(clientEnv(), 'import', writeTestFile('unknown.csv', 'Email,Frist\na@example.com,A\n'))
  expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('Unknown columns: "Frist"') })
})

test('Ctrl-C detaches from an import and prints the command that follows it', async () => {
  // No worker runs, so that the import cannot complete yet.
  const worker = stack.workers.at(-1)
  worker?.kill()
  await worker?.exited
  const waiting = await startProcess({
    script,
    parameters: ['import', writeTestFile('people.csv', goodRows)],
    env: clientEnv(),
    readyPattern: /(imp_\w+) is queued/,
    timeoutMs: 30_000,
  })
  const [, id = ''] = waiting.ready ?? []
  waiting.kill('SIGINT')
  expect(await waiting.exited).toMatchObject({ code: 130 })
  expect(waiting.stderr()).toContain('The import continues on the server')
  expect(waiting.stderr()).toContain(`rapport import --follow ${id}`)
  await stack.startWorker()
  const followed = await run(clientEnv(), 'import', '--follow', id)
  expect(followed).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(`${id} is complete: 2 processed, 2 created`),
  })
})

// The SDK, which it uses, follows events across a restart of the API in sdk.slow.test.ts.
test('listen forwards new events once, signed and in order', async () => {
  const receiver = await startHttpReceiver()
  const ctx = { ...(await createTestCtx(stack.database.db)), workspaceId: Id('wsp').parse(workspaceId) }
  await createTestContact(ctx, { email: 'before@example.com' })
  const listener = await startListener(receiver)
  const [, secret = ''] = listener.ready ?? []

  await createTestContact(ctx, { email: 'first@example.com' })
  await receiver.waitFor(1, 20_000)
  expect(verifySignature(receiver.requests[0], secret)).toMatchObject({
    type: 'contact.created',
    data: { email: 'first@example.com' },
  })
  receiver.respondWith(() => ({ status: 500 }))
  const emails = Array.from({ length: 5 }, (_, n) => `person-${n}@example.com`)
  for (const email of emails) await createTestContact(ctx, { email })
  await createTestDeal(ctx)
  await receiver.waitFor(8, 30_000)
  const events = receiver.requests.map((request) => verifySignature(request, secret) as { data: { email: string } })
  expect(events.slice(0, 6).map(({ data }) => data.email)).toEqual(['first@example.com', ...emails])
  await waitUntil(() => listener.stdout().split('\n').length > 8, { describe: 'each event is printed' })
  expect(listener.stdout()).toMatch(/evt_\w+ {2}contact.created +200 {2}\d+ ms\n/)
  expect(listener.stdout()).toMatch(/evt_\w+ {2}contact.created +500 {2}\d+ ms\n/)

  listener.kill('SIGINT')
  expect(await listener.exited).toMatchObject({ code: 0 })
  const [, lastEventId = ''] = /--after (evt_\w+)/.exec(listener.stderr()) ?? []
  expect(lastEventId).toBe(receiver.requests.at(-1)?.headers['webhook-id'])
  await createTestDeal(ctx)
  const again = await startListener(receiver, '--after', lastEventId, '--types', 'deal.created', '--secret', secret)
  await receiver.waitFor(9, 20_000)
  expect(verifySignature(receiver.requests[8], secret)).toMatchObject({ type: 'deal.created' })
  again.kill('SIGTERM')
  await again.exited
  await receiver.close()
})

function startListener(receiver: HttpReceiver, ...more: string[]) {
  return startProcess({
    script,
    parameters: ['listen', '--forward', `${receiver.url}/hook`, ...more],
    env: clientEnv(),
    readyPattern: /Signing secret: (whsec_\S+)\nForwarding/,
    timeoutMs: 30_000,
  })
}

test('listen --trigger has an example delivered to the webhook of the URL alone', async () => {
  const receiver = await startHttpReceiver()
  const [url, other] = [`${receiver.url}/hook`, `${receiver.url}/other`]
  const create = (address: string, eventTypes: string[]) =>
    stack.api.call<{ secret: string }>('POST', '/webhooks', { key, body: { url: address, eventTypes } })
  await create(other, ['*'])
  const trigger = (type: string) => run(clientEnv(), 'listen', '--forward', url, '--trigger', type)

  const opened = await trigger('deal.won')
  expect(opened).toMatchObject({ code: 0, stdout: expect.stringMatching(/evt_\w+ {2}deal.won +200 {2}\d+ ms\n/) })
  const [secret = ''] = /whsec_\S+/.exec(opened.stderr) ?? []
  expect(verifySignature(receiver.requests[0], secret)).toMatchObject({ type: 'deal.won', data: { status: 'WON' } })
  const listed = await stack.api.call<{ data: { url: string }[] }>('GET', '/webhooks', { key })
  expect(listed.body.data.map((webhook) => webhook.url)).toEqual([other])

  const own = await create(url, ['contact.created'])
  receiver.respondWith(() => ({ status: 500 }))
  expect(await trigger('contact.deleted')).toMatchObject({ code: 1, stdout: expect.stringContaining('500') })
  expect(verifySignature(receiver.requests[1], own.body.secret)).toMatchObject({ type: 'contact.deleted' })
  expect(receiver.requests.map((request) => request.url)).toEqual(['/hook', '/hook'])
  await receiver.close()
})

test('listen --after fails for an unknown event', async () => {
  const parameters = ['listen', '--forward', 'http://127.0.0.1:1', '--after', 'evt_01kag7m3v9e8fs2t4w6x8y0z1b']
  expect(await run(clientEnv(), ...parameters)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('Event not found'),
  })
})

test('queue shows the pending work and the workers', async () => {
  const { code, stdout } = await run(operatorEnv(), 'queue')
  expect(code).toBe(0)
  expect(stdout).toMatch(/^queue +waiting +published +active +failed +oldest\nwebhooks +0 +0 +0 +\d +–\n/)
  expect(stdout).toMatch(/^Workers +1 on \S+$/m)
  expect(stdout).not.toContain('\u001b')

  const watched = await startProcess({ script, parameters: ['queue', '--watch', '--json'], env: operatorEnv() })
  await waitUntil(() => watched.stdout().split('\n').length > 2, {
    describe: 'the output is repeated',
    timeoutMs: 20_000,
  })
  watched.kill('SIGINT')
  expect(await watched.exited).toMatchObject({ code: 0 })
  for (const line of watched.stdout().trim().split('\n')) expect(JSON.parse(line)).toHaveProperty('queues')
})
