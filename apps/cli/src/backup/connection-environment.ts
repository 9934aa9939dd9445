/** The environment of the client programs of PostgreSQL. Other users could see a password in the arguments. */

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

/** Returns the variables that lead a client program to this database. Parts that the URL omits are inherited. */
export function connectionEnvironment(databaseUrl: string, inherited: Environment): Environment {
  const url = new URL(databaseUrl)
  const read = (part: string) => (part === '' ? undefined : decodeURIComponent(part))
  const fromUrl = {
    PGHOST: url.searchParams.get('host') ?? read(url.hostname.replace(/^\[(.*)\]$/, '$1')),
    PGPORT: read(url.port),
    PGUSER: read(url.username),
    PGPASSWORD: read(url.password),
    PGDATABASE: url.pathname.length > 1 ? decodeURI(url.pathname.slice(1)) : undefined,
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
