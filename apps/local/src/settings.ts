import type { Memory } from './data-directory.ts'
import { findFreePort, isPortFree } from '@rapport/embedded-postgres/free-port.ts'

export type Environment = Record<string, string | undefined>

const defaultApiPort = 3000
export const embeddedDatabase = 'embedded'

/** Where things will be. What is undefined is not ours to start: the environment names another. */
export interface Ports {
  readonly api: number
  readonly postgres: number | undefined
  readonly inbox: { readonly smtp: number; readonly web: number } | undefined
}

/** The value of a variable; one that is set to nothing counts as not set, as everywhere in Rapport. */
function valueOf(environment: Environment, name: string): string | undefined {
  return environment[name] || undefined
}

/**
 * Finds a port for each part that is started here: the usual one, or the next that is free. Throws when the one that was
 * set by hand is taken.
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
  const given = valueOf(environment, 'PORT')
  if (given === undefined || given === '0') return findFreePort(Number(given ?? defaultApiPort))
  const port = Number(given)
  // The check of the environment will name it.
  if (!isPort(port)) return defaultApiPort
  // On another address than the usual one the port may well be free.
  const isTaken = valueOf(environment, 'HOST') === undefined && !(await isPortFree(port))
  if (isTaken) throw new Error(`Port ${port} is taken. Set PORT to another, or leave it out to have the next free one.`)
  return port
}

const isPort = (port: number) => Number.isInteger(port) && port > 0 && port <= 65_535

/** The environment of the API and the worker: the one given, with what it lacks filled in and nothing overridden. */
export function completeEnvironment(given: Environment, ports: Ports, memory: Memory): Environment {
  const defaults: Environment = {
    PORT: String(ports.api),
    PUBLIC_URL: `http://localhost:${ports.api}`,
    DATABASE_URL: ports.postgres ? `postgres://rapport@127.0.0.1:${ports.postgres}/rapport` : undefined,
    SMTP_URL: ports.inbox ? `smtp://127.0.0.1:${ports.inbox.smtp}` : undefined,
    MAIL_FROM: 'hello@rapport.localhost',
    SECRET_KEY: memory.secretKey,
    DASHBOARD_USER: 'admin',
    DASHBOARD_PASSWORD: memory.dashboardPassword,
    // Receivers that one tries webhooks with run on this machine.
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8,::1/128',
    LOG_LEVEL: 'warn',
  }
  const missing = Object.entries(defaults).filter(([name]) => valueOf(given, name) === undefined)
  // The one name that is replaced: "any port" has become this one.
  const port = valueOf(given, 'PORT') === '0' ? { PORT: String(ports.api) } : {}
  return { ...given, ...Object.fromEntries(missing), ...port }
}

/** What the API key is remembered by, so that a key is never shown for a database that does not know it. */
export function databaseName(environment: Environment, ports: Ports): string {
  if (ports.postgres !== undefined) return embeddedDatabase
  const url = new URL(environment['DATABASE_URL'] ?? '')
  return `${url.host}${url.pathname}`
}

/** Where this machine reaches the API, whatever strangers call it. */
export function localApiUrl(environment: Environment, ports: Ports): string {
  const host = valueOf(environment, 'HOST') ?? '127.0.0.1'
  const isLocal = ['127.0.0.1', '0.0.0.0', '::', '::1', 'localhost'].includes(host)
  const name = isLocal ? 'localhost' : host.includes(':') ? `[${host}]` : host
  return `http://${name}:${ports.api}`
}
