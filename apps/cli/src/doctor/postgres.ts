import { type DatabaseFacts, readDatabaseFacts } from '@rapport/core/db/database-facts.ts'
import { type Database, poolSize } from '@rapport/core/db/client.ts'
import { hasPendingMigrations } from '@rapport/core/db/migrate.ts'
import { type Check, findingsAbout, type Finding, messageOf, type Patient } from './finding.ts'

const { ok, warn, fail } = findingsAbout('PostgreSQL')
const oldestMajor = 18
const wantedExtensions = ['pg_trgm', 'btree_gin', 'unaccent']
/** BullMQ's own connections, for a queue and a worker of each of the five queues, where the queues are in PostgreSQL. */
const queueConnections = 2 * 5 * 5

export const postgresCheck: Check = {
  about: 'PostgreSQL',
  async run({ database, config }) {
    if (!database) return []
    try {
      const facts = await readDatabaseFacts(database.db)
      return [
        ...judgeServer(facts),
        ...judgeDurability(facts),
        judgeRoom(facts, config),
        ...(await judgeSchema(database, facts)),
      ]
    } catch (error) {
      return [fail(messageOf(error), 'Nothing works without it: see that it runs and DATABASE_URL is right.')]
    }
  },
}

function judgeServer({ version, majorVersion, encoding, isStandby, isReadOnly }: DatabaseFacts): Finding[] {
  if (majorVersion < oldestMajor) return [fail(`version ${version}`, `Rapport needs ${oldestMajor} or newer.`)]
  if (isStandby) return [fail('this is a standby, which takes no writes', 'DATABASE_URL must name the primary.')]
  if (isReadOnly) {
    return [fail('transactions are read-only by default', 'Set default_transaction_read_only off for this account.')]
  }
  if (encoding !== 'UTF8') return [fail(`the encoding is ${encoding}`, 'Create the database with the encoding UTF8.')]
  return [ok(`version ${version}`)]
}

/** "What was answered with 2xx is in PostgreSQL" is as true as these settings. */
function judgeDurability({ switches }: DatabaseFacts): Finding[] {
  const off = ['fsync', 'full_page_writes', 'synchronous_commit'].filter((name) => switches[name] === 'off')
  return [
    ...(off.length > 0
      ? [fail(`${off.join(', ')} off: a crash of the machine loses what was acknowledged`, 'Set them on, and reload.')]
      : [ok('a commit is on disk before it is acknowledged')]),
    ...(switches['autovacuum'] === 'off'
      ? [warn('autovacuum is off: deliveries and the outbox grow without end', 'Set autovacuum on, and reload.')]
      : []),
  ]
}

function judgeRoom(
  { roomForConnections: room, connections: used }: DatabaseFacts,
  { REDIS_URL }: Patient['config'],
): Finding {
  const ofWorker = poolSize + 1 + (REDIS_URL ? 0 : queueConnections)
  const need = `an API takes up to ${poolSize}, a worker up to ${ofWorker}`
  if (room < poolSize + ofWorker) {
    return warn(`room for ${room} connections, and ${need}`, 'Raise max_connections, or the limit of the account.')
  }
  if (used > 0.9 * room) {
    return warn(`${used} of ${room} connections are in use`, `Raise max_connections: ${need}.`)
  }
  return ok(`${used} of ${room} connections in use; ${need}`)
}

async function judgeSchema({ db }: Database, { extensions }: DatabaseFacts): Promise<Finding[]> {
  if (await hasPendingMigrations(db)) return [fail('migrations are pending', 'Run "pnpm migrate".')]
  const missing = wantedExtensions.filter((name) => !extensions.includes(name))
  if (missing.length === 0) return [ok('the database is up to date')]
  return [fail(`without the extension ${missing.join(', ')}`, `Run "create extension ${missing[0]}" as its owner.`)]
}
