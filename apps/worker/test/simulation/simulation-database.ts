/** A PostgreSQL server with one migrated database, for simulations outside of Vitest. */
import { spawn } from 'node:child_process'
import { rm } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { openDatabase } from '@rapport/core/db/client.ts'
import { migrate } from '@rapport/core/db/migrate.ts'
import { startEmbeddedPostgres } from '@rapport/embedded-postgres/embedded-postgres.ts'
import { createDataFolder } from '@rapport/testing/postgres/data-folder.ts'
import { cachedTemplate, copyTemplateCluster } from '@rapport/testing/postgres/template-cluster.ts'
import type { Place } from './world.ts'

export async function openSimulationDatabase(): Promise<Place & { close(): Promise<void> }> {
  const directory = await createDataFolder('rapport-simulation-')
  removeAfterExit(directory)
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

/**
 * Stops the server and removes its data when this process ends, also by SIGKILL: then the input of the shell ends. After
 * a close there is neither.
 */
function removeAfterExit(directory: string): void {
  const pidFile = '"$0/data/postmaster.pid"'
  const script = [
    'cat',
    `kill -QUIT "$(head -n 1 ${pidFile})"`,
    // The server removes this file last.
    `for n in $(seq 100); do [ -e ${pidFile} ] || break; sleep 0.1; done`,
    'rm -rf "$0"',
  ].join('; ')
  // In a session of its own, so that a Ctrl-C in the terminal does not end the shell as well.
  const shell = spawn('/bin/sh', ['-c', script, directory], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  shell.unref()
  ;(shell.stdin as Socket).unref()
}
