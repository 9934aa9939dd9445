import { rm } from 'node:fs/promises'
import { openDatabase } from '@rapport/core/db/client.ts'
import { migrate } from '@rapport/core/db/migrate.ts'
import { startEmbeddedPostgres } from '@rapport/embedded-postgres/embedded-postgres.ts'
import { createDataFolder } from '@rapport/testing/postgres/data-folder.ts'
import type { TestDatabase } from '@rapport/testing/postgres/database.ts'
import { cachedTemplate, copyTemplateCluster } from '@rapport/testing/postgres/template-cluster.ts'

/** Starts a PostgreSQL server for one test, which may restart it. */
export async function startRestartablePostgres() {
  const directory = await createDataFolder('rapport-e2e-')
  await copyTemplateCluster(directory)
  const first = await startEmbeddedPostgres({ directory, durable: true })
  let server = first
  const url = server.url(cachedTemplate)
  // Partitions have to be created every day.
  await migrate(url)
  const opened = openDatabase(url, { applicationName: 'rapport test', onError: () => {} })
  const database: TestDatabase = {
    url,
    db: opened.db,
    pool: opened.pool,
    async close() {
      await opened.close()
      await server.stop()
      await rm(directory, { recursive: true })
    },
  }
  async function restart() {
    await server.stop()
    server = await startEmbeddedPostgres({ directory, port: first.port, durable: true })
  }
  return { database, restart }
}
