/** A PostgreSQL primary with a streaming replica. A test can stop the replica and pause its replay. */
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
  pauseReplay(): Promise<void>
  resumeReplay(): Promise<void>
  stopReplica(): Promise<void>
  startReplica(): Promise<void>
  /** Returns the replica's log since the last call. It contains every statement. */
  takeStatements(): Promise<string>
  close(): Promise<void>
}

/** The replica starts as a file copy of the stopped primary. */
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
  const { username, password } = new URL(first.url('rapport'))
  const connection = `host=127.0.0.1 port=${first.port} user=${username} password=${password}`
  const connectionSetting = `primary_conninfo = '${connection}'\n`
  await appendFile(join(data, 'postgresql.auto.conf'), connectionSetting)

  const primary = await startEmbeddedPostgres({
    directory: primaryDirectory,
    port: first.port,
    durable: false,
    // Without it, WAL is written and streamed with a delay.
    settings: { synchronous_commit: 'on' },
  })
  // A query that conflicts with replay is canceled immediately, and every statement is logged.
  const settings = { max_standby_streaming_delay: '0', log_statement: 'all' }
  const startReplica = (port?: number) =>
    startEmbeddedPostgres({ directory: replicaDirectory, durable: false, settings, ...(port && { port }) })
  let replica: EmbeddedPostgres = await startReplica()
  const { port } = replica
  const replicaUrl = replica.url('rapport')
  const queryReplica = (text: string) => withAdminClient(replicaUrl, (client) => client.query(text))
  let logOffset = 0

  const url = primary.url('rapport')
  const { db, pool, ...opened } = openDatabase(url, { applicationName: 'rapport test', onError: () => {} })
  return {
    database: { url, db, pool, close: () => opened.close() },
    replicaUrl,
    pauseReplay: async () => void (await queryReplica('select pg_wal_replay_pause()')),
    resumeReplay: async () => void (await queryReplica('select pg_wal_replay_resume()')),
    stopReplica: () => replica.stop(),
    async startReplica() {
      replica = await startReplica(port)
      logOffset = 0
    },
    async takeStatements() {
      const log = await readFile(join(data, 'server.log'), 'utf8')
      const recent = log.slice(logOffset)
      logOffset = log.length
      return recent
    },
    async close() {
      await replica.stop()
      await primary.stop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}
