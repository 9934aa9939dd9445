import type { LocalState } from './data-directory.ts'
import { findFreePort, isPortFree } from '@rapport/embedded-postgres/free-port.ts'

export type Environment = Record<string, string | undefined>

const defaultApiPort = 3000
const embeddedDatabase = 'embedded'
/** The role of the API, the worker and the migrations in the embedded PostgreSQL. It is not a superuser. */
export const databaseRole = 'rapport_app'

/** The ports of the servers to start. Undefined for a server that the environment configures. */
export interface Ports {
  readonly api: number
  readonly postgres: number | undefined
  readonly inbox: { readonly smtp: number; readonly web: number } | undefined
}

/** Returns the value of a variable. An empty variable counts as not set, as in all programs of Rapport. */
function valueOf(environment: Environment, name: string): string | undefined {
  return environment[name] || undefined
}

/**
 * Finds a port for each server to start: the default port or the next free one. Throws if PORT is set and in use.
 */
export async function choosePorts(environment: Environment): Promise<Ports> {
  return {
    api: await chooseApiPort(environment),
    postgres: valueOf(environment, 'DATABASE_URL') ? undefined : await findFreePort(5433),
    inbox: valueOf(environment, 'SMTP_URL')
      ? undefined
      : { smtp: await findFreePort(1025), web: await findFreePort(1080) },
  }
}

async function chooseApiPort(environment: Environment): Promise<number> {
  const value = valueOf(environment, 'PORT')
  if (value === undefined || value === '0') return findFreePort(Number(value ?? defaultApiPort))
  const port = Number(value)
  // The validation of the environment reports it.
  if (!isPort(port)) return defaultApiPort
  // With HOST set, the port may be free on that address.
  const isInUse = valueOf(environment, 'HOST') === undefined && !(await isPortFree(port))
  if (isInUse)
    throw new Error(`Port ${port} is in use. Set PORT to another port, or unset it to use the next free one.`)
  return port
}

const isPort = (port: number) => Number.isInteger(port) && port > 0 && port <= 65_535

/** Returns the environment of the API and the worker: the inherited one, with defaults for missing variables. */
export function completeEnvironment(inherited: Environment, ports: Ports, state: LocalState): Environment {
  const defaults: Environment = {
    PORT: String(ports.api),
    PUBLIC_URL: `http://localhost:${ports.api}`,
    DATABASE_URL: ports.postgres
      ? `postgres://${databaseRole}:${state.databasePassword}@127.0.0.1:${ports.postgres}/rapport`
      : undefined,
    SMTP_URL: ports.inbox ? `smtp://127.0.0.1:${ports.inbox.smtp}` : undefined,
    MAIL_FROM: 'hello@rapport.localhost',
    SECRET_KEY: state.secretKey,
    DASHBOARD_USER: 'admin',
    DASHBOARD_PASSWORD: state.dashboardPassword,
    // During development, webhook receivers usually run on this machine.
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8,::1/128',
    // But not at the servers of this installation, where a request could read emails or do harm.
    WEBHOOK_REFUSED_PORTS: [ports.api, ports.postgres, ports.inbox?.smtp, ports.inbox?.web]
      .filter((port) => port !== undefined)
      .join(','),
    LOG_LEVEL: 'warn',
  }
  const missing = Object.entries(defaults).filter(([name]) => valueOf(inherited, name) === undefined)
  // The only variable that is replaced: port 0 means any free port.
  const port = valueOf(inherited, 'PORT') === '0' ? { PORT: String(ports.api) } : {}
  return { ...inherited, ...Object.fromEntries(missing), ...port }
}

/** Identifies a database, so that its API key is not used for another one. */
export function databaseName(environment: Environment, ports: Ports): string {
  if (ports.postgres !== undefined) return embeddedDatabase
  const url = new URL(environment['DATABASE_URL'] ?? '')
  return `${url.host}${url.pathname}`
}

/** The URL of the API on this machine. PUBLIC_URL may differ. */
export function localApiUrl(environment: Environment, ports: Ports): string {
  const host = valueOf(environment, 'HOST') ?? '127.0.0.1'
  const isLocal = ['127.0.0.1', '0.0.0.0', '::', '::1', 'localhost'].includes(host)
  const name = isLocal ? 'localhost' : host.includes(':') ? `[${host}]` : host
  return `http://${name}:${ports.api}`
}
