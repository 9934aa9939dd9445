/** The environment of the client programs of PostgreSQL. Other users could see a password in the arguments. */
import { readDatabaseUrl } from '@rapport/core/backups/connection.ts'

type Environment = Record<string, string | undefined>

/** Parameters of a URL that libpq reads from a variable: `sslmode` from PGSSLMODE, `channel_binding` from PGCHANNELBINDING. */
const parameters = [
  'channel_binding',
  'gssencmode',
  'options',
  'sslcert',
  'sslcrl',
  'sslkey',
  'sslmode',
  'sslnegotiation',
  'sslrootcert',
  'target_session_attrs',
]

/** Returns the variables that lead a client program to the database to which the URL leads the driver. */
export function connectionEnvironment(databaseUrl: string, inherited: Environment): Environment {
  const url = new URL(databaseUrl)
  const { host, port, user, password, database } = readDatabaseUrl(databaseUrl)
  const fromUrl = {
    PGHOST: host,
    PGPORT: String(port),
    PGUSER: user,
    PGPASSWORD: password,
    PGDATABASE: database,
    ...Object.fromEntries(
      parameters.map((name) => [
        `PG${name.replaceAll('_', '').toUpperCase()}`,
        // Only the driver of Rapport knows this mode.
        url.searchParams.get(name)?.replace(/^no-verify$/, 'require'),
      ]),
    ),
  }
  const kept = Object.entries(inherited).filter(([name]) => /^(PATH|HOME|LANG|TZ|PG[A-Z]+)$/.test(name))
  const present = Object.entries(fromUrl).filter(([, value]) => value !== undefined)
  // English messages, which the commands recognize.
  return Object.fromEntries([...kept, ...present, ['LC_ALL', 'C'], ['PGAPPNAME', 'rapport backup']])
}
