/** A PostgreSQL server with one migrated database, for simulations outside of Vitest. */
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '@rapport/core/db/client.ts'
import { migrate } from '@rapport/core/db/migrate.ts'
import { startEmbeddedPostgres } from '@rapport/embedded-postgres/embedded-postgres.ts'
import { cachedTemplate, copyTemplateCluster } from '@rapport/testing/postgres/template-cluster.ts'
import type { Place } from './world.ts'

export async function openSimulationDatabase(): Promise<Place & { close(): Promise<void> }> {
  const directory = await mkdtemp(join(tmpdir(), 'rapport-simulation-'))
  // PostgreSQL runs as another user when the tests run as root.
  await chmod(directory, 0o755)
  await copyTemplateCluster(directory)
  const settings = { autovacuum: 'off', wal_level: 'minimal', max_wal_senders: '0' }
  const postgres = await startEmbeddedPostgres({ directory, durable: false, settings })
  const url = postgres.url(cachedTemplate)
  await migrate(url)
  const database = openDatabase(url, { applicationName: 'rapport simulation', onError: () => {} })
  const place: Place = { url, database, idlePools: [] }
  const close = async () => {
    for (const pool of place.idlePools) await pool.database.close()
    await database.close()
    await postgres.stop()
    await rm(directory, { recursive: true, force: true })
  }
  return { ...place, close }
}
