/** The PostgreSQL versions that Rapport runs on. */
import { sql } from 'drizzle-orm'
import { namedStatement } from './statements/named-statement.ts'
import { int, nullable, text } from './statements/sql-types.ts'
import { withTimeout } from '../kernel/concurrency/with-timeout.ts'
import { ConfigError } from '../runtime/config.ts'
import type { Db } from './client.ts'

const oldestMajorVersion = 15

/**
 * Throws a ConfigError if the server is too old. Resolves if the version cannot be read within two seconds: a process
 * starts without its database and waits for it. `onUnavailable` is then called with the reason.
 */
export async function assertSupportedServer(
  db: Parameters<typeof readVersion>[0],
  onUnavailable: (error: Error) => void = () => {},
): Promise<void> {
  const [version] = await withTimeout(readVersion(db)).catch((error: unknown) => {
    onUnavailable(error as Error)
    return []
  })
  const major = version?.major ?? oldestMajorVersion
  if (major < oldestMajorVersion) {
    throw new ConfigError(`PostgreSQL ${major} is too old: ${oldestMajorVersion} or newer is needed`)
  }
}

const readVersion = namedStatement('read the version of the server', {
  columns: { major: int },
  sql: () => sql`select current_setting('server_version_num')::int / 10000 as major`,
})

/** Creates `uuidv7([shift])` on a server older than PostgreSQL 18, which has it. */
export async function createMissingUuidFunction(db: Db): Promise<void> {
  const [found] = await findUuidFunction(db)
  if (!found?.name) await createUuidFunction(db)
}

const findUuidFunction = namedStatement('find uuidv7()', {
  columns: { name: nullable(text) },
  sql: () => sql`select to_regprocedure('uuidv7(interval)')::text as name`,
})

/**
 * The bytes are those of RFC 9562, section 5.7: 48 bits of milliseconds, the version, 12 bits of the fraction of the
 * millisecond (section 6.2, method 3, as in PostgreSQL 18), the variant, and 62 random bits. After an upgrade of the
 * server its own function is used: `pg_catalog` is first in the search path.
 */
export async function createUuidFunction(db: Db): Promise<void> {
  await db.execute(sql`
    create function public.uuidv7(shift interval default '0') returns uuid language sql volatile parallel safe as $$
      select encode(
        substring(int8send(micros / 1000) from 3)
          || int2send((x'7000'::int + micros % 1000 * 4096 / 1000)::int2)
          || substring(uuid_send(gen_random_uuid()) from 9),
        'hex')::uuid
      from (select (extract(epoch from clock_timestamp() + shift) * 1000000)::bigint as micros) as clock
    $$`)
}
