import { type DatabaseFacts, readDatabaseFacts } from '@rapport/core/db/database-facts.ts'
import { type Database, formats, poolSize } from '@rapport/core/db/client.ts'
import { hasPendingMigrations } from '@rapport/core/db/migrate.ts'
import { rootMessageOf } from '@rapport/core/kernel/errors.ts'
import { maxSnapshots } from '@rapport/core/db/snapshot.ts'
import { queueNames } from '@rapport/core/work/queues.ts'
import { type Check, findingsAbout, type Finding, type CheckInput } from './finding.ts'

const { ok, warn, fail } = findingsAbout('PostgreSQL')
const wantedExtensions = ['pg_trgm', 'btree_gin', 'unaccent']
/** The worker's second pool, for queues in PostgreSQL: 15 connections for queries, and one per queue for LISTEN. */
const queueConnections = 15 + queueNames.length
/** For queues in PostgreSQL, an API has two for its publisher, and two per queue for the queue dashboard. */
const queueConnectionsOfApi = 2 + 2 * queueNames.length

export const postgresCheck: Check = {
  about: 'PostgreSQL',
  async run({ database, config }) {
    if (!database) return []
    try {
      const facts = await readDatabaseFacts(database.db)
      return [
        ...checkServer(facts),
        ...checkFormats(facts),
        ...checkDurability(facts),
        checkConnectionLimit(facts, config),
        ...(await checkSchema(database, facts)),
      ]
    } catch (error) {
      return [fail(rootMessageOf(error), 'Check that PostgreSQL is running and that DATABASE_URL is correct.')]
    }
  },
}

function checkServer({ version, encoding, isStandby, isReadOnly }: DatabaseFacts): Finding[] {
  if (isStandby) return [fail('the server is a standby, which rejects writes', 'Set DATABASE_URL to the primary.')]
  if (isReadOnly) {
    return [fail('transactions are read-only by default', 'Set default_transaction_read_only to off for this account.')]
  }
  if (encoding !== 'UTF8') return [fail(`the encoding is ${encoding}`, 'Create the database with the encoding UTF8.')]
  return [ok(`version ${version}`)]
}

/** No statement depends on these. They are named for the SQL of others: reports, and programs that read the database. */
function checkFormats({ switches, defaults, collation }: DatabaseFacts): Finding[] {
  const findings: Finding[] = []
  // Rapport sets them on each connection. A pooler may drop that.
  for (const [name, wanted] of Object.entries(formats)) {
    const found = switches[name]
    if (found === undefined || found.split(',')[0] === wanted.split(',')[0]) continue
    const remedy = `Run "alter role … set ${name} to '${wanted}'" for this account.`
    // Dates that are not ISO cannot be read.
    const find = name === 'DateStyle' ? fail : warn
    findings.push(find(`${name} is ${found}, although Rapport asks for ${wanted}: a pooler ignores it`, remedy))
  }
  if (defaults.length > 0)
    findings.push(ok(`the database sets ${defaults.join(', ')}; Rapport uses ISO dates in UTC on its own connections`))
  const { name, lowersAscii, lowersOthers } = collation
  if (!lowersAscii)
    findings.push(
      warn(
        `the collation ${name} lowers "I" to a dotless i. Rapport compares addresses without it`,
        'In your own SQL, write lower(email collate "C"), or create the database with the collation C.UTF-8.',
      ),
    )
  if (!lowersOthers)
    findings.push(
      warn(
        `the collation ${name} lowers ASCII letters only: a search does not ignore the case of others, such as Cyrillic`,
        'Create the database with the collation C.UTF-8.',
      ),
    )
  return findings
}

/** The API promises that every 2xx write is durable, which depends on these settings. */
function checkDurability({ switches }: DatabaseFacts): Finding[] {
  const off = ['fsync', 'full_page_writes', 'synchronous_commit'].filter((name) => switches[name] === 'off')
  return [
    ...(off.length > 0
      ? [fail(`${off.join(', ')} off: a crash of the machine loses acknowledged writes`, 'Set them to on and reload.')]
      : [ok('a commit is on disk before it is acknowledged')]),
    ...(switches['autovacuum'] === 'off'
      ? [warn('autovacuum is off: deliveries and work grow without limit', 'Set it to on and reload.')]
      : []),
  ]
}

function checkConnectionLimit(
  { maxConnections: limit, connections: used }: DatabaseFacts,
  { REDIS_URL }: CheckInput['config'],
): Finding {
  const apiConnections = poolSize + maxSnapshots + (REDIS_URL ? 0 : queueConnectionsOfApi)
  const workerConnections = poolSize + (REDIS_URL ? 0 : queueConnections)
  const need = `an API process uses up to ${apiConnections}, a worker up to ${workerConnections}`
  if (limit < apiConnections + workerConnections) {
    return warn(`the limit is ${limit} connections; ${need}`, 'Raise max_connections, or the limit of the account.')
  }
  if (used > 0.9 * limit) {
    return warn(`${used} of ${limit} connections are in use`, `Raise max_connections: ${need}.`)
  }
  return ok(`${used} of ${limit} connections are in use; ${need}`)
}

async function checkSchema({ db }: Database, { extensions }: DatabaseFacts): Promise<Finding[]> {
  if (await hasPendingMigrations(db)) return [fail('migrations are pending', 'Run "rapport migrate".')]
  const missing = wantedExtensions.filter((name) => !extensions.includes(name))
  if (missing.length === 0) return [ok('the database is up to date')]
  return [
    fail(`missing extension: ${missing.join(', ')}`, `Run "create extension ${missing[0]}" as the database owner.`),
  ]
}
