import { randomBytes } from 'node:crypto'
import { readFile, readdir } from 'node:fs/promises'
import { openDatabase } from '@rapport/core/db/client.ts'
import { distribute, readDistribution } from '@rapport/core/db/distribution/distribute.ts'
import { migrate } from '@rapport/core/db/migrate.ts'
import { type CitusNode, connectNodes, readNodes } from '@rapport/testing/postgres/citus.ts'
import { coordinatorUrl } from '@rapport/testing/postgres/citus-cluster.ts'
import { withAdminClient } from '@rapport/testing/postgres/database.ts'
import { type Installation, withInstallation } from '../installation.ts'
import type { LoadRequest } from '../load.ts'
import { type Bench, type Figure, measureRounds, type Options } from '../measurements.ts'
import { createMeter } from '../metering.ts'

export const distributed: Bench = {
  about: 'POST /contacts on the Citus cluster of CITUS_DATABASE_URL; baseline: its coordinator alone',
  async measure(options) {
    if (!coordinatorUrl) throw new Error('Set CITUS_DATABASE_URL: see CONTRIBUTING.md')
    const nodes = await readNodes(coordinatorUrl)
    const on = (isDistributed: boolean) => ({ createDatabase: () => createDatabase(nodes, isDistributed) })
    return withInstallation(
      (cluster) => withInstallation((single) => compare({ cluster, single, nodes }, options), on(false)),
      on(true),
    )
  },
}

async function createDatabase(nodes: readonly CitusNode[], isDistributed: boolean) {
  const name = `rapport_bench_${randomBytes(6).toString('hex')}`
  for (const { url } of nodes) await withAdminClient(url, (client) => client.query(`create database ${name}`))
  const url = await connectNodes(nodes, name)
  await migrate(url)
  const database = openDatabase(url, { applicationName: 'bench', onError: () => {} })
  const distribution = await readDistribution(database.db)
  await database.close()
  if (isDistributed && distribution) await distribute(url, distribution.pending)
  const drop = async () => {
    for (const { url } of nodes)
      await withAdminClient(url, (client) => client.query(`drop database ${name} with (force)`))
  }
  return { url, drop }
}

interface Sides {
  cluster: Installation
  single: Installation
  nodes: readonly CitusNode[]
}

async function compare({ cluster, single, nodes }: Sides, options: Options): Promise<Figure[]> {
  const postmasters = await Promise.all(nodes.map(readPostmaster))
  const [onCluster, onSingle] = [
    await prepare(cluster, postmasters, options),
    await prepare(single, postmasters, options),
  ]
  const rates = await measureRounds(options, {
    clusterOne: onCluster.createInOne,
    singleOne: onSingle.createInOne,
    clusterMany: onCluster.createInMany,
    singleMany: onSingle.createInMany,
  })
  const alone = (values: number[]) => ({ name: 'the coordinator alone', values })
  const workspaces = { One: 'one workspace', Many: 'a hundred workspaces' }
  return (['One', 'Many'] as const).flatMap((kind): Figure[] => {
    const name = `POST /contacts, ${workspaces[kind]}`
    const [costs, baselines] = [onCluster.costs[kind], onSingle.costs[kind]]
    const sum = (cost: readonly number[]) => cost.reduce((total, value) => total + value, 0)
    return [
      { name, unit: 'requests/s', values: rates[`cluster${kind}`], baseline: alone(rates[`single${kind}`]) },
      {
        name: `${name}, processor time of all servers`,
        unit: 'µs per request',
        values: costs.map(sum),
        baseline: alone(baselines.map(sum)),
      },
      ...nodes.map(({ port }, index) => ({
        name: `${name}, processor time of ${index === 0 ? 'the coordinator' : `the server at port ${port}`}`,
        unit: 'µs per request',
        values: costs.map((cost) => cost[index] ?? Number.NaN),
      })),
    ]
  })
}

/** Starts the programs of an installation with a hundred workspaces. Returns what is measured on it. */
async function prepare(installation: Installation, postmasters: readonly number[], options: Options) {
  await installation.startRedis()
  const keys: string[] = []
  for (let count = 0; count < 100; count += 1) keys.push((await installation.createWorkspace()).key)
  const api = await installation.startApi()
  const forMs = options.quick ? 700 : 5_000
  const meter = createMeter(installation.startLoadGenerator(), { forMs, perSecond: 100 })
  const body = { email: 'person{n}@example.com', firstName: 'Ada', lastName: 'Lovelace' }
  const requestsOf = (keys: readonly string[]) =>
    keys.map((key): LoadRequest => ({ method: 'POST', path: '/contacts', body, key }))
  const costs: Record<'One' | 'Many', number[][]> = { One: [], Many: [] }
  const measure = (kind: 'One' | 'Many', requests: LoadRequest[]) => {
    const run = meter.rate(kind, api, { requests })
    let isWarm = false
    return async () => {
      const count = () =>
        installation.client
          .query<{ count: string }>('select count(*) from contacts')
          .then(({ rows }) => Number(rows[0]?.count))
      const [countBefore, before] = [await count(), await Promise.all(postmasters.map(readClusterCpuMs))]
      const perSecond = await run()
      const [after, countAfter] = [await Promise.all(postmasters.map(readClusterCpuMs)), await count()]
      const perRequest = after.map((ms, index) => ((ms - (before[index] ?? 0)) * 1_000) / (countAfter - countBefore))
      if (isWarm) costs[kind].push(perRequest)
      isWarm = true
      return perSecond
    }
  }
  return {
    costs,
    createInOne: measure('One', requestsOf(keys.slice(0, 1))),
    createInMany: measure('Many', requestsOf(keys)),
  }
}

/** Returns the process id of a server on this machine. */
async function readPostmaster({ url }: CitusNode): Promise<number> {
  const { rows } = await withAdminClient(url, (client) =>
    client.query<{ pid: string }>(`select split_part(pg_read_file('postmaster.pid'), e'\\n', 1) as pid`),
  )
  return Number(rows[0]?.pid)
}

/** Returns the processor time of a server: of the running processes, and of those that have ended. */
async function readClusterCpuMs(postmaster: number): Promise<number> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const times = pids.map(async (pid) => {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
    const fields =
      stat
        ?.replace(/^.*\) /, '')
        .split(' ')
        .map(Number) ?? []
    const [parent, own, ended] = [
      fields[1],
      (fields[11] ?? 0) + (fields[12] ?? 0),
      (fields[13] ?? 0) + (fields[14] ?? 0),
    ]
    if (Number(pid) === postmaster) return own + ended
    return parent === postmaster ? own : 0
  })
  return (await Promise.all(times)).reduce((sum, time) => sum + time, 0) * 10
}
