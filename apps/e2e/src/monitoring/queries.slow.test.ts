/** Every query of the dashboards and alerts finds data in a real Prometheus, after real work. */
import { startHttpReceiver } from '@rapport/testing/network/receivers.ts'
import { findMonitoringPrograms } from '@rapport/testing/processes/monitoring-programs.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addConfirmedSubscribers } from '../campaign-recipients.ts'
import { countOpenWork, type Stack } from '../stack.ts'
import { type MonitoredStack, startMonitoredStack } from './monitored-stack.ts'
import { dashboards, readAlerts } from './ops-files.ts'

const programs = await findMonitoringPrograms()

/** Panels without data, and why. */
const emptyPanels: Record<string, string> = {
  'Newest backup': 'no backup was made',
  'Failed requests by route': 'no request fails with 5xx',
  'Emails not sent': 'the mail server accepts every email',
  'Workspaces with the highest rates': 'no workspace sent 500 emails',
}

/** Parts of selectors without series, and why. */
const emptySelectors: Record<string, string> = {
  rapport_backup_age_seconds: 'no backup was made',
  'status="5xx"': 'no request fails with 5xx',
  'outcome="failed"}': 'no job fails',
  'mountpoint=~"/var/lib/': 'the machine of the test may have no disk of its own for PostgreSQL',
}

/** Does something of every kind that the metrics count. Runs after the first scrape, so that counters grow. */
async function doWork({ api, inbox, database }: Stack): Promise<void> {
  const receiver = await startHttpReceiver()
  const { key, workspaceId } = await api.createWorkspace()
  const create = async (path: string, body: object, credential: string | undefined = key) => {
    const { status, body: created } = await api.call<{ id: string; publicId: string }>('POST', path, {
      ...(credential && { key: credential }),
      body,
    })
    expect([path, status]).toEqual([path, expect.toBeOneOf([200, 201, 202]) as number])
    return created
  }
  await create('/webhooks', { url: receiver.url, eventTypes: ['*'] })
  const { id: contactId } = await create('/contacts', { email: 'ada@example.com' })
  await create(`/contacts/${contactId}/tasks`, { title: 'Call' })
  const { id: listId } = await create('/lists', { name: 'Newsletter' })
  await create(`/public/lists/${listId}/subscribe`, { email: 'grace@example.com' }, '')
  await addConfirmedSubscribers(database, { workspaceId, listId }, 5)
  const { id: campaignId } = await create('/campaigns', { name: 'News', subject: 'News', html: '<p>News</p>', listId })
  await create(`/campaigns/${campaignId}/send`, {})
  await inbox.waitFor(6, 30_000)
  await waitUntil(async () => (await countOpenWork({ database })) === 0, {
    describe: 'all work is done',
    timeoutMs: 30_000,
  })
  await receiver.close()
}

interface QueryResponse {
  status: string
  error?: string
  data: { result: { value: [number, string] }[] }
}

describe.skipIf(!programs)('with Prometheus', () => {
  let monitored: MonitoredStack
  beforeAll(async () => {
    if (!programs) return
    monitored = await startMonitoredStack(programs)
    await waitUntil(() => hasData('rapport_workers == 1 and on () rapport_queues_up == 1'), {
      describe: 'Prometheus has read the API and the worker',
      timeoutMs: 60_000,
    })
    await doWork(monitored.stack)
  })
  afterAll(() => monitored?.close())

  async function query(expression: string): Promise<number[]> {
    const response = await fetch(`${monitored.url}/api/v1/query`, {
      method: 'POST',
      body: new URLSearchParams({ query: expression }),
    })
    const { status, error, data } = (await response.json()) as QueryResponse
    if (status !== 'success') throw new Error(`${expression}: ${error}`)
    return data.result.map(({ value }) => Number(value[1]))
  }
  /** NaN is no data: a quantile or a share of nothing. */
  const hasData = async (expression: string) => (await query(expression)).some((value) => !Number.isNaN(value))

  /** Waits until each query has data, and returns those that never have. */
  async function findWithoutData(queries: ReadonlyMap<string, string>): Promise<string[]> {
    let empty = [...queries.keys()]
    await waitUntil(
      async () => {
        const found = await Promise.all(empty.map((name) => hasData(queries.get(name) ?? '')))
        empty = empty.filter((_name, index) => !found[index])
        return empty.length === 0
      },
      { describe: 'every query has data', timeoutMs: 20_000 },
    ).catch(() => {})
    return empty
  }

  const replaceIntervals = (expr: string) =>
    expr.replaceAll(/\$__(rate_interval|interval)/g, '1m').replaceAll('$__range', '1h')

  test.each(dashboards)('every query of the dashboard %s has data', async (_name, { panels }) => {
    const targets = panels.flatMap(({ title, targets = [] }) =>
      targets.map(({ refId, expr }) => [`${title} ${refId}`, replaceIntervals(expr)] as const),
    )
    expect(targets.length).toBeGreaterThan(20)
    const isExpected = (name: string) => emptyPanels[name.slice(0, -2)] !== undefined
    const expected = targets.filter(([name]) => isExpected(name))
    // A query without data is valid, too.
    await Promise.all(expected.map(([, expr]) => query(expr)))
    expect(await findWithoutData(new Map(targets.filter(([name]) => !isExpected(name))))).toEqual([])
  })

  test('every series that an alert selects exists', async () => {
    const expressions = readAlerts().map(({ expr }) => expr)
    const selectors = expressions.flatMap(
      (expr) => expr.match(/\b(?:up|(?:rapport|nodejs|process|node|probe)_\w+)(?:\{[^}]*\})?/g) ?? [],
    )
    expect(selectors.length).toBeGreaterThan(30)
    const isExpected = (selector: string) => Object.keys(emptySelectors).some((part) => selector.includes(part))
    const existing = selectors.filter((selector) => !isExpected(selector))
    expect(await findWithoutData(new Map(existing.map((selector) => [selector, selector])))).toEqual([])
  })

  test('Prometheus evaluates every alert, and none fires on a healthy installation', async () => {
    interface Rules {
      data: { groups: { rules: { name: string; health: string; state: string }[] }[] }
    }
    const readRules = async () => {
      const response = await fetch(`${monitored.url}/api/v1/rules?type=alert`)
      return ((await response.json()) as Rules).data.groups.flatMap(({ rules }) => rules)
    }
    await waitUntil(async () => (await readRules()).every(({ health }) => health !== 'unknown'), {
      describe: 'every alert was evaluated',
      timeoutMs: 20_000,
    })
    const rules = await readRules()
    expect(rules).toHaveLength(readAlerts().length)
    expect(rules.filter(({ health }) => health !== 'ok')).toEqual([])
    // The disks of the machine that runs the test are not part of it.
    const firing = rules.filter(({ name, state }) => state === 'firing' && !name.includes('Disk'))
    expect(firing.map(({ name }) => name)).toEqual([])
  })

  test('the probe of PUBLIC_URL reads its certificate', async () => {
    expect(await query('probe_success')).toEqual([1])
    const [expiry = 0] = await query('probe_ssl_earliest_cert_expiry - time()')
    expect(expiry).toBeGreaterThan(86_400)
  })
})
