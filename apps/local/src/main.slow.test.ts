import { mkdtemp, readFile, rm, stat, utimes } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { startEmbeddedPostgres } from '@rapport/embedded-postgres/embedded-postgres.ts'
import { withAdminClient } from '@rapport/testing/postgres/database.ts'
import { runProcess, startProcess } from '@rapport/testing/processes/processes.ts'
import type { StartedProcess } from '@rapport/testing/processes/processes.ts'
import { countRuns } from '@rapport/testing/runs.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

let directory: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'rapport-launch-'))
})
afterAll(async () => {
  // After a failed test, the database of a killed launcher may still be running.
  const postgres = await startEmbeddedPostgres({ directory: join(directory, 'postgres'), durable: false })
  await postgres.stop()
  await rm(directory, { recursive: true, force: true })
})

test('an invalid variable is reported before anything starts', { timeout: 30_000 }, async () => {
  const launcher = await startProcess({ script, env: { ...environment(), MAIL_FROM: 'invalid' } })
  expect(await launcher.exited).toMatchObject({ code: 78 })
  expect(launcher.stderr()).toContain('MAIL_FROM: must be set to an email address')
})

test('the error for an unreachable database names DATABASE_URL', { timeout: 30_000 }, async () => {
  const launcher = await startProcess({
    script,
    env: { ...environment(), DATABASE_URL: 'postgres://127.0.0.1:1/none' },
  })
  expect(await launcher.exited).toMatchObject({ code: 1 })
  expect(launcher.stderr()).toContain('ECONNREFUSED 127.0.0.1:1 (from DATABASE_URL in your environment')
})

describe('an installation', () => {
  let launched: Launched
  let databaseUrl: string
  let inboxUrl: string
  let authorization: string
  beforeAll(async () => {
    launched = await launch()
    ;[databaseUrl = ''] = /postgres:\S+/.exec(launched.launcher.stdout()) ?? []
    const local = parseEnv(await readFile(join(directory, 'local.env'), 'utf8'))
    inboxUrl = local['RAPPORT_INBOX_URL'] ?? ''
    authorization = local['RAPPORT_INBOX_AUTHORIZATION'] ?? ''
  })

  test('only the owner can open the folder and read the files with secrets', async () => {
    const modeOf = async (name: string) => ((await stat(join(directory, name))).mode & 0o777).toString(8)
    expect(await modeOf('.')).toBe('700')
    expect(await modeOf('mails')).toBe('700')
    for (const name of ['local.env', 'local.json', 'lock']) expect(`${name} ${await modeOf(name)}`).toBe(`${name} 600`)
  })

  test('the database accepts no connection without a password', async () => {
    const { host } = new URL(databaseUrl)
    for (const user of ['rapport', 'rapport_app', 'postgres'])
      await expect(query(`postgres://${user}@${host}/rapport`, 'select 1')).rejects.toThrow(/password/)
  })

  test('the role of the API, the worker and the migrations cannot run programs', async () => {
    await expect(query(databaseUrl, "copy (select 1) to program 'id'")).rejects.toThrow('permission denied to COPY')
    const connected = 'select distinct usename from pg_stat_activity where datname = current_database()'
    expect(await query(databaseUrl, connected)).toEqual([{ usename: 'rapport_app' }])
    const rights = 'select rolsuper, rolcreaterole, rolcreatedb from pg_roles where rolname = current_user'
    expect(await query(databaseUrl, rights)).toEqual([{ rolsuper: false, rolcreaterole: false, rolcreatedb: false }])
  })

  test('the inbox shows nothing without the password', async () => {
    expect((await fetch(`${inboxUrl}/email`)).status).toBe(401)
    expect((await fetch(`${inboxUrl}/email`, { headers: { authorization } })).status).toBe(200)
  })

  test('a website that resolves its name to this machine reaches neither API nor inbox', async () => {
    for (const url of [`${launched.apiUrl}/health`, `${inboxUrl}/email`]) {
      const { port } = new URL(url)
      expect(await statusFor(url, { host: `localhost:${port}`, authorization })).toBe(200)
      expect(await statusFor(url, { host: `evil.example:${port}`, authorization })).toBeGreaterThanOrEqual(400)
    }
  })

  test('a webhook reaches none of the servers of the installation', async () => {
    const { host } = new URL(databaseUrl)
    for (const url of [`${inboxUrl}/email`, `${launched.apiUrl}/public/forms/x/submit`, `http://${host}/`]) {
      const created = await callApi(launched, 'POST /webhooks', { url, eventTypes: ['*'] })
      const { id } = (await created.json()) as { id: string }
      await callApi(launched, `POST /webhooks/${id}/test`)
      const findFailed = async () => {
        const page = await callApi(launched, `GET /webhooks/${id}/deliveries?status=FAILED`)
        return ((await page.json()) as { data: object[] }).data[0]
      }
      const delivery = await waitUntil(findFailed, { describe: `the delivery to ${url} fails` })
      expect(delivery).toMatchObject({ responseStatus: null, error: 'The address is not public and not allowed' })
    }
  })

  test('"rapport demo" creates a workspace, and a second call finds it', { timeout: 180_000 }, async () => {
    const made = await runCli('demo', '--json')
    expect(made).toMatchObject({ code: 0, stderr: expect.stringContaining('Creating 6 companies, 300 contacts') })
    const { apiKey } = JSON.parse(made.stdout) as { apiKey: string }
    const read = async (path: string) =>
      ((await (await callApi({ ...launched, apiKey }, `GET ${path}`)).json()) as { data: { id: string }[] }).data
    const campaigns = await read('/campaigns')
    expect(campaigns).toMatchObject([
      { name: 'November news', status: 'SENT', queued: 240 },
      { name: 'October news', status: 'SENT', queued: 240 },
    ])
    const stats = await callApi({ ...launched, apiKey }, `GET /campaigns/${campaigns[0]?.id}/stats`)
    expect(await stats.json()).toMatchObject({ sent: 240, opened: 80, clicked: 27 })
    expect(await read('/imports')).toMatchObject([{ processed: 5, created: 2, skipped: 1, failed: 2 }])
    expect(await read('/webhooks')).toMatchObject([{ lastSuccessAt: null, lastFailureAt: expect.any(String) }])

    expect(await runCli('demo', '--json')).toMatchObject({ code: 0, stdout: made.stdout })
  })

  test('serves the CLI, stops, and keeps its data, also after kill -9', async () => {
    const first = launched
    const created = await request(first, { email: 'ada@example.com' })
    expect(created.status).toBe(201)

    const second = startProcess({ script, env: environment(), readyPattern: /API key/, timeoutMs: 30_000 })
    await expect(second).rejects.toThrow(`already running with the data in ${directory}`)

    const found = await runCli('doctor', '--json')
    expect(found.stderr).toBe('')
    const { findings } = JSON.parse(found.stdout) as { findings: { level: string; about: string }[] }
    expect(findings.filter(({ level }) => level !== 'ok').map(({ about }) => about)).toEqual([
      'Backups',
      'Sender',
      'Sign-up',
    ])
    expect(found.code).toBe(0)

    first.launcher.kill('SIGTERM')
    expect(await first.launcher.exited).toMatchObject({ code: 0 })
    expect(first.launcher.stdout()).toMatch(/Stopped\.\n$/)
    expect(await runCli('queue')).toMatchObject({ code: 78, stderr: expect.stringContaining('DATABASE_URL') })

    const again = await launch()
    expect(again.apiKey).toBe(first.apiKey)
    expect((await request(again, { email: 'ada@example.com' })).status).toBe(409)

    again.launcher.kill('SIGKILL')
    // The next test goes on with it.
    launched = await launch('--watch')
    expect(launched.apiKey).toBe(first.apiKey)
    expect((await request(launched, { email: 'ada@example.com' })).status).toBe(409)
  })

  test('with --watch, the API starts again after a change of its sources', async () => {
    const { launcher } = launched
    await utimes('apps/api/src/main.ts', new Date(), new Date())
    await waitUntil(() => launcher.stdout().includes('Restarted the API.'), { describe: 'the API starts again' })
    // A file of core starts both again, at once: neither may stop the launcher.
    for (let restarts = 1; restarts <= countRuns({ gate: 1, full: 4 }); restarts += 1) {
      await utimes('packages/core/src/runtime/version.ts', new Date(), new Date())
      const haveRestarted = () => launcher.stdout().split('Restarted the worker.').length > restarts
      await waitUntil(haveRestarted, { describe: 'the worker starts again' })
    }
    const isServing = () =>
      request(launched, { email: 'ada@example.com' }).then(
        ({ status }) => status === 409,
        () => false,
      )
    await waitUntil(isServing, { describe: 'the API serves again' })
    const [url = ''] = /postgres:\S+/.exec(launcher.stdout()) ?? []
    // For the next test.
    await query(url, `update drizzle.__drizzle_migrations set hash = repeat('0', 64)`)
    launcher.kill('SIGINT')
    expect(await launcher.exited).toMatchObject({ code: 0 })
  })

  test('a database of before the first release is refused, with the folder to delete', async () => {
    const launcher = await startProcess({ script, env: environment() })
    expect(await launcher.exited).toMatchObject({ code: 78 })
    expect(launcher.stderr()).toContain(
      'This database was made before the first release and cannot be upgraded. Use an empty one. ' +
        `To start with an empty one, delete the folder ${directory}.`,
    )
  })
})

interface Launched {
  readonly launcher: StartedProcess
  readonly apiUrl: string
  readonly apiKey: string
}

const script = 'apps/local/src/main.ts'
const environment = () => ({ DATA_DIR: directory, PORT: '0' })

async function launch(...parameters: string[]): Promise<Launched> {
  const readyPattern = /API +(http\S+)[^]*API key +(rpk_\S+)[^]*Ctrl-C/
  const launcher = await startProcess({ script, parameters, env: environment(), readyPattern, timeoutMs: 60_000 })
  const [, apiUrl = '', apiKey = ''] = launcher.ready ?? []
  return { launcher, apiUrl, apiKey }
}

/** Runs the CLI, which finds the local installation by itself. */
const runCli = (...parameters: string[]) =>
  runProcess({ script: 'apps/cli/src/main.ts', parameters, env: { DATA_DIR: directory } })

const request = (launched: Launched, contact: { email: string }) => callApi(launched, 'POST /contacts', contact)

/** Sends a request with the API key. `route` is a method and a path. */
function callApi({ apiUrl, apiKey }: Launched, route: string, body?: object): Promise<Response> {
  const [method = '', path = ''] = route.split(' ')
  return fetch(`${apiUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${apiKey}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  })
}

function query(url: string, sql: string): Promise<unknown[]> {
  return withAdminClient(url, async (client) => (await client.query<Record<string, unknown>>(sql)).rows)
}

/** `fetch` does not send a Host header of the caller. */
function statusFor(url: string, headers: Record<string, string>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(url, { headers, agent: false })
    sent.on('response', (response) => (response.resume(), resolve(response.statusCode))).on('error', reject)
    sent.end()
  })
}
