import { globSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { findFreePort } from '@rapport/embedded-postgres/free-port.ts'
import { type StartedProcess } from '@rapport/testing/processes/processes.ts'
import { type HttpReceiver, startHttpReceiver } from '@rapport/testing/network/receivers.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { readPrometheusConfig } from './monitoring/ops-files.ts'
import { type Stack, startStack } from './stack.ts'

const root = resolve(import.meta.dirname, '../../..')

interface Observed {
  stack: Stack
  key: string
  receiver: HttpReceiver
  close(): Promise<void>
}

/** A Node.js option that writes every loaded OpenTelemetry module to stderr. */
const logLoadedModules = `--import=data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module'
  registerHooks({ load(url, context, next) {
    if (url.includes('opentelemetry')) process.stderr.write('LOADED ' + url + '\\n')
    return next(url, context)
  } })`)}`

/** Starts a stack with a webhook for new contacts. */
async function start(environment: Record<string, string>): Promise<Observed> {
  const stack = await startStack('redis', { NODE_OPTIONS: logLoadedModules, ...environment })
  const receiver = await startHttpReceiver()
  const { key } = await stack.api.createWorkspace()
  const body = { url: `${receiver.url}/hook?password=in-a-url`, eventTypes: ['contact.created'] }
  expect((await stack.api.call('POST', '/webhooks', { key, body })).status).toBe(201)
  async function close() {
    await stack.close()
    await receiver.close()
  }
  return { stack, key, receiver, close }
}

/** The Prometheus client depends on the OpenTelemetry API package, which does nothing without the SDK. */
const isInterface = (line: string) => /@opentelemetry[/+]api[@/]/.test(line)
const loadedBy = (program: StartedProcess) =>
  (program.stderr().match(/LOADED .*/g) ?? []).filter((line) => !isInterface(line))

const token = 'known-to-prometheus-alone'
let workerPort: string
let observed: Observed
beforeAll(async () => {
  workerPort = String(await findFreePort())
  observed = await start({ LOG_LEVEL: 'debug', METRICS_TOKEN: token, WORKER_PORT: workerPort })
})
afterAll(() => observed.close())

test('log lines of a delivery and a mail contain the id of the original request', async () => {
  const { stack, key, receiver } = observed
  const requestId = 'from-the-client-1'
  const headers = { 'x-request-id': requestId }
  const created = await stack.api.call('POST', '/contacts', { key, headers, body: { email: 'ada@example.com' } })
  expect(created.headers.get('x-request-id')).toBe(requestId)
  const list = await stack.api.call<{ id: string }>('POST', '/lists', { key, body: { name: 'Newsletter' } })
  const mailed = await stack.api.call('POST', `/public/lists/${list.body.id}/subscribe`, {
    body: { email: 'grace@example.com' },
  })
  await receiver.waitFor(1)
  const lines = () =>
    [...stack.apis, ...stack.workers].map((program) => program.stdout().split('\n').filter(Boolean)).flat()
  const findLine = (id: string | null, message: string) =>
    waitUntil(
      () =>
        lines()
          .map((line) => JSON.parse(line) as Record<string, unknown>)
          .find(({ requestId, msg }) => requestId === id && msg === message),
      { describe: `"${message}" is logged for ${id}`, timeoutMs: 10_000 },
    )
  expect(await findLine(requestId, 'request completed')).toMatchObject({
    name: 'rapport-api',
    path: '/contacts',
    status: 201,
  })
  expect(await findLine(requestId, 'delivery succeeded')).toMatchObject({
    name: 'rapport-worker',
    responseStatus: 200,
  })
  expect(await findLine(mailed.headers.get('x-request-id'), 'mail sent')).toMatchObject({
    kind: 'CONFIRMATION',
  })
})

test('every metric that the dashboard and the alerts use is exported', async () => {
  const { stack, key } = observed
  await stack.api.call('POST', '/contacts', { key, body: { email: 'mary@example.com' } })
  const exported = new Set<string>()
  const read = async (url: string) => {
    const { body } = await stack.api.call<string>('GET', url, { key: token })
    for (const [, name = ''] of body.matchAll(/^(\w+)(?=[ {])/gm)) exported.add(name)
  }
  await waitUntil(
    async () => {
      await read('/metrics')
      await read(`http://127.0.0.1:${workerPort}/metrics`)
      return exported.has('rapport_job_duration_seconds_count') && exported.has('nodejs_gc_duration_seconds_sum')
    },
    { describe: 'a job was counted', timeoutMs: 20_000 },
  )
  // Their tests invent series, so only the rules and the dashboards count.
  const files = ['ops/prometheus/alerts.yml', ...globSync('ops/grafana/*.json', { cwd: root })]
  expect(files).toHaveLength(3)
  const named = files.flatMap(
    (file) => readFileSync(`${root}/${file}`, 'utf8').match(/\b(rapport|nodejs|process)_\w+/g) ?? [],
  )
  expect(named.length).toBeGreaterThan(40)
  // Exported after the first backup, and once a workspace has sent 500 emails.
  const later = ['rapport_backup_age_seconds', 'rapport_workspace_mail_rate']
  expect(named.filter((name) => !exported.has(name) && !later.includes(name))).toEqual([])
})

test('the documentation lists exactly the metrics of the API and of the worker', async () => {
  const { stack } = observed
  const namesAt = async (url: string) => {
    const { body } = await stack.api.call<string>('GET', url, { key: token })
    const names = [...body.matchAll(/^# TYPE (\w+) /gm)].map(([, name = '']) => name)
    return new Set(names.map((name) => name.replace(/^(process|nodejs)_.*/, '$1_*')))
  }
  const api = await namesAt('/metrics')
  const worker = await namesAt(`http://127.0.0.1:${workerPort}/metrics`)
  const exported = [...new Set([...api, ...worker])].map((name) => {
    const process = !worker.has(name) ? 'API' : !api.has(name) ? 'worker' : 'both'
    return `${name}: ${process}`
  })
  const document = readFileSync(`${root}/docs/operations.md`, 'utf8')
  const [table = ''] = /\n\| Metric \|.*\n(?:\|.*\n)+/.exec(document) ?? []
  const documented = [...table.matchAll(/^\| (`.+?`) \| (\w+) \|/gm)].flatMap(([, names = '', process]) =>
    names.split(', ').map((name) => `${name.replaceAll('`', '')}: ${process}`),
  )
  expect(documented.length).toBeGreaterThan(15)
  expect(documented.toSorted()).toEqual(exported.toSorted())
})

test('every documented log line exists in the source', () => {
  const sources = globSync(['apps/{api,worker}/src/**/*.ts', 'packages/core/src/**/*.ts'], { cwd: root })
    .filter((file) => !file.includes('.test.'))
    .map((file) => readFileSync(`${root}/${file}`, 'utf8'))
  const document = readFileSync(`${root}/docs/operations.md`, 'utf8')
  const [, table = ''] = /\n\| line \|.*\n(?:\|.*\n)+/.exec(document)?.[0].split('|---|---|---|') ?? []
  const lines = [...table.matchAll(/^\| ([^|]+)/gm)].flatMap(
    ([, cell = '']) => cell.match(/(?<=`)[a-z][^`]{5,}(?=`)/gi) ?? [],
  )
  expect(lines.length).toBeGreaterThan(15)
  expect(lines.filter((line) => !sources.some((source) => new RegExp(`['\`]${line}`).test(source)))).toEqual([])
})

test('Prometheus scrapes exactly the processes that the pm2 and systemd examples start', () => {
  const portsIn = (text: string, pattern: RegExp) => new Set([...text.matchAll(pattern)].map(([, port]) => port))
  const jobs = readPrometheusConfig().scrape_configs.filter(({ job_name }) => job_name.startsWith('rapport-'))
  const targets = jobs.flatMap(({ static_configs }) => static_configs.flatMap((config) => config.targets))
  const scraped = new Set(targets.map((target) => target.split(':')[1]))
  const pm2 = readFileSync(`${root}/ops/pm2/ecosystem.config.cjs`, 'utf8')
  expect(portsIn(pm2, /(?:api|worker)\((\d+)\)/g)).toEqual(scraped)
  const document = readFileSync(`${root}/docs/deployment.md`, 'utf8')
  expect(portsIn(document, /rapport-(?:api|worker)@(\d+)/g)).toEqual(scraped)
  expect(portsIn(document, /rapport-(?:api|worker)-(\d+)/g)).toEqual(scraped)
})

interface ExportedSpan {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  attributes: { key: string; value: unknown }[]
}
interface Export {
  resourceSpans: { scopeSpans: { spans: ExportedSpan[] }[] }[]
}

test('a trace links the request, the job and the webhook request, without secrets', async () => {
  const collector = await startHttpReceiver()
  onTestFinished(() => collector.close())
  const traced = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url })
  const { stack, key, receiver } = traced
  let closed: Promise<void> | undefined
  const end = () => (closed ??= traced.close())
  onTestFinished(end)
  const traceId = '0af7651916cd43dd8448eb211c80319c'
  const headers = { traceparent: `00-${traceId}-b7ad6b7169203331-01` }
  await stack.api.call('POST', '/contacts', { key, headers, body: { email: 'ada@example.com' } })
  await stack.api.call('GET', '/public/unsubscribe?token=a-secret-in-a-link')
  await receiver.waitFor(1)
  // The programs export their remaining spans when they shut down.
  await end()
  expect(new Set(collector.requests.map(({ url }) => url))).toEqual(new Set(['/v1/traces']))
  const exported = collector.requests.map(({ body }) => body.toString())
  const spans = exported
    .flatMap((text) => (JSON.parse(text) as Export).resourceSpans)
    .flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
  const chain: string[] = []
  for (let parent = 'b7ad6b7169203331'; ; ) {
    const next = spans.find((span) => span.traceId === traceId && span.parentSpanId === parent)
    if (!next) break
    chain.push(next.name)
    parent = next.spanId
  }
  expect(chain).toEqual(['POST /contacts', 'process webhooks', 'POST'])
  const delivery = spans.find(({ name, traceId: id }) => name === 'POST' && id === traceId)
  expect(receiver.requests[0]?.headers['traceparent']).toBe(`00-${traceId}-${delivery?.spanId}-01`)
  expect(spans.map(({ name }) => name)).toContain('GET /public/unsubscribe')
  expect([...stack.apis, ...stack.workers].map((program) => loadedBy(program).length > 0)).toEqual([true, true])
  for (const secret of ['a-secret-in-a-link', 'in-a-url', key, 'ada@example.com']) {
    expect(exported.some((text) => text.includes(secret))).toBe(false)
  }
})

test('without a collector the OpenTelemetry SDK is not loaded', async () => {
  const { stack } = observed
  const programs = [...stack.apis, ...stack.workers]
  expect(programs.flatMap(loadedBy)).toEqual([])
  expect(programs.map((program) => program.stderr().includes('LOADED'))).toEqual([true, true])
})
