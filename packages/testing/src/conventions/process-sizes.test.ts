/** The process managers set the limits of docs/sizing.md. */
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'

const root = resolve(import.meta.dirname, '../../../..')
const read = (path: string) => readFile(resolve(root, path), 'utf8')
const [memory, stopSeconds] = ['1g', 60]

test('docs/sizing.md states the limits', async () => {
  const text = await read('docs/sizing.md')
  expect(text).toContain('| Memory limit | 1 GB | 1 GB |')
  expect(text).toContain(`| Time to shut down before it is killed | ${stopSeconds} s | ${stopSeconds} s |`)
})

test.each(['api', 'worker'])('the systemd unit of the %s sets them', async (program) => {
  const unit = await read(`ops/systemd/rapport-${program}@.service`)
  const setting = (name: string) => new RegExp(`^${name}=(.+)$`, 'm').exec(unit)?.[1]?.toLowerCase()
  expect([setting('MemoryMax'), setting('TimeoutStopSec')]).toEqual([memory, String(stopSeconds)])
})

test('pm2 sets them for every process', async () => {
  const { default: config } = (await import(resolve(root, 'ops/pm2/ecosystem.config.cjs'))) as {
    default: { apps: { max_memory_restart: string; kill_timeout: number }[] }
  }
  expect(config.apps.length).toBeGreaterThan(1)
  for (const app of config.apps) {
    expect([app.max_memory_restart.toLowerCase(), app.kill_timeout]).toEqual([memory, stopSeconds * 1_000])
  }
})

test('docker-compose.yml sets them for every API and worker', async () => {
  const { services } = parse(await read('docker-compose.yml'), { merge: true }) as {
    services: Record<string, { mem_limit?: string; stop_grace_period?: string }>
  }
  const programs = Object.entries(services).filter(([name]) => /^(api|worker)/.test(name))
  expect(programs.length).toBeGreaterThan(1)
  for (const [, service] of programs) {
    expect([service.mem_limit, service.stop_grace_period]).toEqual([memory, `${stopSeconds}s`])
  }
})

test('the Helm chart sets them', async () => {
  const values = parse(await read('ops/helm/rapport/values.yaml')) as Record<string, { resources: unknown }>
  const limits = { limits: { memory: `${memory}i`.replace('g', 'G') } }
  expect([values['api'], values['worker']]).toMatchObject([{ resources: limits }, { resources: limits }])
  expect(await read('ops/helm/rapport/templates/_helpers.tpl')).toContain(
    `terminationGracePeriodSeconds: ${stopSeconds}\n`,
  )
})

test('all delay a shutdown by an interval of the checks of Caddy and three seconds', async () => {
  const caddy = await read('ops/caddy/Caddyfile')
  const setting = (name: string) => new RegExp(`^\\s+${name} (\\d+)`, 'm').exec(caddy)?.[1]
  // /ready responds within three seconds.
  const delayMs = (Number(setting('health_interval')) * Number(setting('health_fails') ?? 1) + 3) * 1_000
  for (const path of [
    'docker-compose.yml',
    'ops/caddy/Caddyfile',
    'ops/helm/rapport/templates/config.yaml',
    'ops/nginx/rapport.conf',
    'ops/pm2/ecosystem.config.cjs',
    'ops/systemd/rapport-api@.service',
  ]) {
    const [, delay] = /SHUTDOWN_DELAY_MS\W{1,4}(\d[\d_]*)/.exec(await read(path)) ?? []
    expect([path, delay?.replace('_', '')]).toEqual([path, String(delayMs)])
  }
})

test('all start two APIs and three workers', async () => {
  const values = await read('ops/helm/rapport/values.yaml')
  const replicas = [...values.matchAll(/^(api|worker):\n {2}replicas: (\d+)$/gm)].map(
    ([, name, count]) => `${count} ${name}`,
  )
  expect(replicas).toEqual(['2 api', '3 worker'])
  for (const [path, pattern] of [
    ['docker-compose.yml', /^ {2}(api|worker)-\d+:$/gm],
    ['ops/pm2/ecosystem.config.cjs', /\b(api|worker)\(\d+\)/g],
  ] as const) {
    const started = [...(await read(path)).matchAll(pattern)].map(([, name]) => name)
    expect([path, ...started]).toEqual([path, 'api', 'api', 'worker', 'worker', 'worker'])
  }
})
