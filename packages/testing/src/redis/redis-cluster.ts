/** A Redis Cluster of three masters, and a master with a replica and sentinels. Tests can kill their servers. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Redis } from 'ioredis'
import { findFreePort } from '@rapport/embedded-postgres/free-port.ts'
import { startCommand, type StartedProcess } from '../processes/processes.ts'
import { withRedis, getRedisBinary, startRedisServer } from './redis.ts'
import { waitUntil } from '../wait.ts'

export interface TestRedisGroup {
  /** The URL of the whole cluster, or of all sentinels. */
  readonly url: string
  /** Kills a server: in a cluster the node with this index, with sentinels the current master. */
  kill(node?: number): Promise<void>
  /** Starts the killed server again, without data. */
  start(): Promise<void>
  close(): Promise<void>
}

const slots = 16_384
const nodeCount = 3

/** Three masters that share the slots. While one of them is down, the cluster rejects all commands. */
export async function createTestRedisCluster(): Promise<TestRedisGroup> {
  const directory = await mkdtemp(join(tmpdir(), 'rapport-redis-cluster-'))
  const ports = [await findNodePort(), await findNodePort(), await findNodePort()]
  const nodes: StartedProcess[] = []
  let killed: number | undefined

  async function startNode(index: number) {
    const port = ports[index] ?? 0
    const settings = {
      dir: directory,
      'cluster-enabled': 'yes',
      'cluster-config-file': `nodes-${port}.conf`,
      'cluster-node-timeout': '1000',
    }
    nodes[index] = (await startRedisServer({ binary: getRedisBinary(), port, settings })).process
  }
  const withNode = (index: number, work: (redis: Redis) => Promise<unknown>) =>
    withRedis(`redis://127.0.0.1:${ports[index]}`, work)

  await Promise.all(ports.map((_, index) => startNode(index)))
  const slotsPerNode = Math.ceil(slots / nodeCount)
  for (const index of ports.keys()) {
    const ownSlots = Array.from({ length: slots }, (_, slot) => slot).slice(
      index * slotsPerNode,
      (index + 1) * slotsPerNode,
    )
    await withNode(index, (redis) => redis.call('cluster', 'set-config-epoch', index + 1))
    await withNode(index, (redis) => redis.call('cluster', 'addslots', ...ownSlots))
  }
  for (const port of ports) await withNode(0, (redis) => redis.call('cluster', 'meet', '127.0.0.1', port))

  async function waitUntilHealthy() {
    const isHealthy = async (index: number) => {
      let info = ''
      await withNode(index, async (redis) => (info = String(await redis.call('cluster', 'info'))))
      return info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${nodeCount}`)
    }
    const areHealthy = async () => (await Promise.all([...ports.keys()].map(isHealthy))).every(Boolean)
    await waitUntil(areHealthy, { describe: 'all nodes are connected', timeoutMs: 15_000 })
  }

  await waitUntilHealthy()
  return {
    url: `redis+cluster://${ports.map((port) => `127.0.0.1:${port}`).join(',')}`,
    async kill(node = 0) {
      killed = node
      nodes[node]?.kill('SIGKILL')
      await nodes[node]?.exited
    },
    async start() {
      if (killed !== undefined) await startNode(killed)
      await waitUntilHealthy()
    },
    async close() {
      for (const node of nodes) node.kill('SIGKILL')
      await Promise.all(nodes.map((node) => node.exited))
      await rm(directory, { recursive: true, force: true })
    },
  }
}

/** A port that, like the node's bus port 10,000 above it, is below the range of outgoing connections. */
async function findNodePort(): Promise<number> {
  for (;;) {
    const port = await findFreePort()
    if (port + 10_000 < 32_768) return port
  }
}

const master = 'rapport'

/** A master, its replica, and three sentinels with a quorum of two. */
export async function createTestSentinels(): Promise<TestRedisGroup> {
  const binary = getRedisBinary()
  const directory = await mkdtemp(join(tmpdir(), 'rapport-sentinels-'))
  // The master starts the replication immediately. By default it waits five seconds for further replicas.
  const settings = { dir: directory, 'repl-diskless-sync-delay': '0' }
  const first = await startRedisServer({ binary, settings })
  const replicaof = `127.0.0.1 ${first.port}`
  const second = await startRedisServer({ binary, settings: { ...settings, replicaof } })
  const servers = new Map([first, second].map(({ port, process }) => [port, process]))
  await withRedis(second.url, (redis) =>
    waitUntil(async () => (await redis.info('replication')).includes('master_link_status:up'), {
      describe: 'the replica is connected',
    }),
  )
  const sentinels = await Promise.all([1, 2, 3].map((number) => startSentinel(number)))

  async function startSentinel(number: number) {
    const port = await findFreePort()
    const file = join(directory, `${number}.conf`)
    const lines = [
      `port ${port}`,
      'bind 127.0.0.1',
      `dir ${directory}`,
      `sentinel monitor ${master} 127.0.0.1 ${first.port} 2`,
      `sentinel down-after-milliseconds ${master} 1000`,
      `sentinel failover-timeout ${master} 3000`,
    ]
    await writeFile(file, `${lines.join('\n')}\n`)
    const parameters = [file, '--sentinel']
    return { port, process: await startCommand({ command: binary, parameters, readyPattern: /\+monitor master/ }) }
  }
  const withEachSentinel = async (work: (redis: Redis) => Promise<unknown>) => {
    for (const { port } of sentinels) await withRedis(`redis://127.0.0.1:${port}`, work)
  }
  await withEachSentinel((redis) =>
    waitUntil(async () => String(await redis.call('sentinel', 'ckquorum', master)).startsWith('OK 3'), {
      describe: 'the sentinels have a quorum',
      timeoutMs: 15_000,
    }),
  )

  let killed: number | undefined
  return {
    url: `redis+sentinel://${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/${master}`,
    async kill() {
      await withEachSentinel(async (redis) => {
        const [, port] = (await redis.call('sentinel', 'get-master-addr-by-name', master)) as [string, string]
        killed ??= Number(port)
      })
      const server = servers.get(killed ?? 0)
      server?.kill('SIGKILL')
      await server?.exited
    },
    async start() {
      if (killed === undefined) return
      servers.set(killed, (await startRedisServer({ binary, port: killed, settings })).process)
      killed = undefined
    },
    async close() {
      const processes = [...sentinels.map((sentinel) => sentinel.process), ...servers.values()]
      for (const started of processes) started.kill('SIGKILL')
      await Promise.all(processes.map((started) => started.exited))
      await rm(directory, { recursive: true, force: true })
    },
  }
}
