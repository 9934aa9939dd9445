import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedPostgres } from '@rapport/embedded-postgres/embedded-postgres.ts'
import { runProcess, startProcess } from '@rapport/testing/processes/processes.ts'
import type { StartedProcess } from '@rapport/testing/processes/processes.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'

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

test('starts, serves the CLI, stops, and keeps its data, also after kill -9', {
  timeout: 120_000,
}, async () => {
  const first = await launch()
  const created = await request(first, { email: 'ada@example.com' })
  expect(created.status).toBe(201)

  const second = startProcess({ script, env: environment(), readyPattern: /API key/, timeoutMs: 30_000 })
  await expect(second).rejects.toThrow(`already running with the data in ${directory}`)

  const found = await runCli('doctor', '--json')
  expect(found.stderr).toBe('')
  const { findings } = JSON.parse(found.stdout) as { findings: { level: string; about: string }[] }
  expect(findings.filter(({ level }) => level !== 'ok').map(({ about }) => about)).toEqual(['Sender'])
  expect(found.code).toBe(0)

  first.launcher.kill('SIGTERM')
  expect(await first.launcher.exited).toMatchObject({ code: 0 })
  expect(first.launcher.stdout()).toMatch(/Stopped\.\n$/)
  expect(await runCli('queue')).toMatchObject({ code: 78, stderr: expect.stringContaining('DATABASE_URL') })

  const again = await launch()
  expect(again.apiKey).toBe(first.apiKey)
  expect((await request(again, { email: 'ada@example.com' })).status).toBe(409)

  again.launcher.kill('SIGKILL')
  const afterKill = await launch()
  expect(afterKill.apiKey).toBe(first.apiKey)
  expect((await request(afterKill, { email: 'ada@example.com' })).status).toBe(409)
  afterKill.launcher.kill('SIGINT')
  expect(await afterKill.launcher.exited).toMatchObject({ code: 0 })
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

interface Launched {
  readonly launcher: StartedProcess
  readonly apiUrl: string
  readonly apiKey: string
}

const script = 'apps/local/src/main.ts'
const environment = () => ({ DATA_DIR: directory, PORT: '0' })

async function launch(): Promise<Launched> {
  const readyPattern = /API +(http\S+)[^]*API key +(rpk_\S+)[^]*Ctrl-C/
  const launcher = await startProcess({ script, env: environment(), readyPattern, timeoutMs: 60_000 })
  const [, apiUrl = '', apiKey = ''] = launcher.ready ?? []
  return { launcher, apiUrl, apiKey }
}

/** Runs the CLI, which finds the local installation by itself. */
const runCli = (...parameters: string[]) =>
  runProcess({ script: 'apps/cli/src/main.ts', parameters, env: { DATA_DIR: directory } })

function request({ apiUrl, apiKey }: Launched, contact: { email: string }): Promise<Response> {
  return fetch(`${apiUrl}/contacts`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(contact),
  })
}
