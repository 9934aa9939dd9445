/** Test databases on Citus: each exists under one name on the coordinator and on the workers. */
import { openDatabase } from '@rapport/core/db/client.ts'
import { distribute, readDistribution } from '@rapport/core/db/distribution/distribute.ts'
import { migrate } from '@rapport/core/db/migrate.ts'
import { inject } from 'vitest'
import { createDatabase, databaseUrl, type TestDatabase, withAdminClient } from './database.ts'

export interface CitusNode {
  url: string
  host: string
  port: number
}

/** The nodes of the cluster of this database, the coordinator first. */
export async function readNodes(coordinatorUrl: string): Promise<CitusNode[]> {
  const { rows } = await withAdminClient(coordinatorUrl, (client) =>
    client.query<{ host: string; port: number }>(
      'select nodename as host, nodeport as port from pg_dist_node where isactive order by groupid',
    ),
  )
  return rows.map(({ host, port }) => {
    const url = new URL(coordinatorUrl)
    url.host = `${host}:${port}`
    return { host, port, url: url.href }
  })
}

/** Connects the databases of this name, which exist on every node without tables, as a cluster. Returns its URL. */
export async function connectNodes(nodes: readonly CitusNode[], name: string): Promise<string> {
  for (const { url } of nodes) {
    await withAdminClient(databaseUrl(url, name), (client) => client.query('create extension citus'))
  }
  const [coordinator, ...workers] = nodes
  if (!coordinator) throw new Error('The cluster has no node')
  const url = databaseUrl(coordinator.url, name)
  await withAdminClient(url, async (client) => {
    await client.query('select citus_set_coordinator_host($1, $2)', [coordinator.host, coordinator.port])
    for (const { host, port } of workers) await client.query('select citus_add_node($1, $2)', [host, port])
  })
  return url
}

/** Creates a migrated database with the servers of the cluster, whose tables are not distributed. */
export async function createUndistributedDatabase(): Promise<TestDatabase> {
  const { nodeUrls } = inject('testServices')
  const database = await createDatabase(nodeUrls, '')
  const name = new URL(database.url).pathname.slice(1)
  await migrate(await connectNodes(await readNodes(nodeUrls[0] ?? ''), name))
  return database
}

/** Makes the template, which exists on every node without tables, a migrated and distributed database. */
export async function distributeTemplate(nodes: readonly CitusNode[], template: string): Promise<void> {
  const url = await connectNodes(nodes, template)
  await migrate(url)
  const database = openDatabase(url, { applicationName: 'rapport test', onError: () => {} })
  try {
    const distribution = await readDistribution(database.db)
    if (distribution) await distribute(url, distribution.pending)
  } finally {
    await database.close()
  }
  // PostgreSQL clones no database that is in use, for example by the maintenance process of Citus.
  for (const node of nodes) {
    await withAdminClient(node.url, async (client) => {
      await client.query('set citus.enable_ddl_propagation = off')
      await client.query(`alter database ${template} with allow_connections false`)
      await client.query('select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = $1', [template])
    })
  }
}
