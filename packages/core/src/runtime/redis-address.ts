import { z } from 'zod'

interface Host {
  host: string
  port: number
}

interface Credentials {
  username?: string
  password?: string
}

/** Where Redis is: one server, a cluster that some of its nodes lead to, or whichever the sentinels call the master. */
export type RedisAddress =
  | { kind: 'server'; url: string }
  | ({ kind: 'cluster'; nodes: Host[]; tls: boolean } & Credentials)
  | ({
      kind: 'sentinel'
      sentinels: Host[]
      master: string
      database: number
      tls: boolean
      sentinelPassword?: string
    } & Credentials)

const addressPattern =
  /^(?<scheme>rediss?)\+(?<kind>cluster|sentinel):\/\/(?:(?<account>[^@/]*)@)?(?<hosts>[^@/?#]+)(?:\/(?<master>[\w.-]+))?(?:\/(?<database>\d{1,5}))?\/?(?:\?sentinelPassword=(?<sentinelPassword>[^&#]+))?$/

/**
 * Reads `redis://…`, `redis+cluster://host:port,host:port` and `redis+sentinel://host:port,host:port/master/database`; with
 * `rediss` the connections are encrypted. Undefined when it is none of these.
 */
export function parseRedisAddress(text: string): RedisAddress | undefined {
  if (/^rediss?:/.test(text)) return z.url().safeParse(text).success ? { kind: 'server', url: text } : undefined
  const parts = addressPattern.exec(text)?.groups
  if (!parts) return undefined
  const { kind, master, database, account = '', hosts = '', sentinelPassword } = parts
  try {
    const common = { tls: parts['scheme'] === 'rediss', ...parseCredentials(account) }
    if (kind === 'cluster') {
      const isPlain = master === undefined && sentinelPassword === undefined
      return isPlain ? { kind, nodes: parseHosts(hosts, 6379), ...common } : undefined
    }
    if (master === undefined) return undefined
    const password = sentinelPassword === undefined ? {} : { sentinelPassword: decodeURIComponent(sentinelPassword) }
    const sentinels = parseHosts(hosts, 26_379)
    return { kind: 'sentinel', sentinels, master, database: Number(database ?? 0), ...common, ...password }
  } catch {
    return undefined
  }
}

/** Throws on what is no host. */
function parseHosts(text: string, defaultPort: number): Host[] {
  return text.split(',').map((part) => {
    const url = new URL(`redis://${part}`)
    if (url.hostname === '') throw new Error('There is no host')
    return { host: url.hostname.replace(/^\[(.*)\]$/, '$1'), port: url.port ? Number(url.port) : defaultPort }
  })
}

function parseCredentials(text: string): Credentials {
  const [username = '', ...password] = text.split(':')
  return {
    ...(username && { username: decodeURIComponent(username) }),
    ...(password.length > 0 && { password: decodeURIComponent(password.join(':')) }),
  }
}

/** For the configuration: an address as `parseRedisAddress` reads it. */
export const RedisUrl = z.string().refine((text) => parseRedisAddress(text) !== undefined, {
  error: 'must be a redis://, redis+cluster:// or redis+sentinel:// address',
})
