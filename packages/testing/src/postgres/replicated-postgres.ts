/** A PostgreSQL of a test's own with a streaming replica, which may be stopped, and held back. */
import { appendFile, chmod, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '@rapport/core/db/client.ts'
import {
  type EmbeddedPostgres,
  ensureDatabase,
  startEmbeddedPostgres,
} from '@rapport/embedded-postgres/embedded-postgres.ts'
import { migrate } from '@rapport/core/db/migrate.ts'
import { withAdminClient, type TestDatabase } from './database.ts'

export interface ReplicatedPostgres {
  /** On the primary; closing it leaves the servers running. */
  readonly database: TestDatabase
  readonly replicaUrl: string
  /** Holds the replica where it is, until it may go on. */
  pauseReplay(): Promise<void>
  resumeReplay(): Promise<void>
  stopReplica(): Promise<void>
  startReplica(): Promise<void>
  /** What the replica was asked since the last time. */
  takeStatements(): Promise<string>
  close(): Promise<void>
}

/** The replica is a copy of the stopped primary that is told where to read on. */
export async function startReplicatedPostgres(): Promise<ReplicatedPostgres> {
  const directory = await mkdtemp(join(tmpdir(), 'rapport-replicated-'))
  await chmod(directory, 0o755)
  const [primaryDirectory, replicaDirectory] = [join(directory, 'primary'), join(directory, 'replica')]
  const first = await startEmbeddedPostgres({ directory: primaryDirectory, durable: false })
  await ensureDatabase(first, 'rapport')
  await migrate(first.url('rapport'))
  await first.stop()

  await mkdir(replicaDirectory)
  const data = join(replicaDirectory, 'data')
  await cp(join(primaryDirectory, 'data'), data, { recursive: true, preserveTimestamps: true })
  await writeFile(join(data, 'standby.signal'), '')
  const follow = `primary_conninfo = 'host=127.0.0.1 port=${first.port} user=rapport'\n`
  await appendFile(join(data, 'postgresql.auto.conf'), follow)

  const primary = await startEmbeddedPostgres({
    directory: primaryDirectory,
    port: first.port,
    durable: false,
    // Otherwise the log would be written, and so handed on, only every now and then.
    settings: { synchronous_commit: 'on' },
  })
  // A query that is in the way of what the primary did is ended at once; and every one is logged.
  const settings = { max_standby_streaming_delay: '0', log_statement: 'all' }
  const startReplica = (port?: number) =>
    startEmbeddedPostgres({ directory: replicaDirectory, durable: false, settings, ...(port && { port }) })
  let replica: EmbeddedPostgres = await startReplica()
  const { port } = replica
  const replicaUrl = replica.url('rapport')
  const askReplica = (text: string) => withAdminClient(replicaUrl, (client) => client.query(text))
  let taken = 0

  const url = primary.url('rapport')
  const { db, pool, ...opened } = openDatabase(url, { applicationName: 'rapport test', onError: () => {} })
  return {
    database: { url, db, pool, close: () => opened.close() },
    replicaUrl,
    pauseReplay: async () => void (await askReplica('select pg_wal_replay_pause()')),
    resumeReplay: async () => void (await askReplica('select pg_wal_replay_resume()')),
    stopReplica: () => replica.stop(),
    async startReplica() {
      replica = await startReplica(port)
      taken = 0
    },
    async takeStatements() {
      const log = await readFile(join(data, 'server.log'), 'utf8')
      const since = log.slice(taken)
      taken = log.length
      return since
    },
    async close() {
      await replica.stop()
      await primary.stop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}
