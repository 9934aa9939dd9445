import { z } from 'zod'

interface Host {
  host: string
  port: number
}

interface Credentials {
  username?: string
  password?: string
}

/** The address of Redis: a server, some nodes of a cluster, or sentinels, which know the current master. */
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
 * Parses `redis://…`, `redis+cluster://host:port,host:port` and `redis+sentinel://host:port,host:port/master/database`;
 * the scheme `rediss` enables TLS. Returns undefined if the text has none of these forms.
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

/** Throws if a host is invalid. */
function parseHosts(text: string, defaultPort: number): Host[] {
  return text.split(',').map((part) => {
    const url = new URL(`redis://${part}`)
    if (url.hostname === '') throw new Error('The host is empty')
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

/** The schema of REDIS_URL. */
export const RedisUrl = z.string().refine((text) => parseRedisAddress(text) !== undefined, {
  error: 'must be a redis://, redis+cluster:// or redis+sentinel:// URL',
})
