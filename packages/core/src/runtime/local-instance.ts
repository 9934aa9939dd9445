/** The file in which `start` describes its local installation, so that other programs find it. */
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { quotaVariables } from './variables/quota-variables.ts'

export const projectDirectory = fileURLToPath(new URL('../../../../', import.meta.url))

/** An installation that is running, or was running when its launcher was killed. */
export const LocalInstance = z.object({
  apiUrl: z.string(),
  apiKey: z.string(),
  /** The mail inbox in the browser. Absent if mails go to another server. */
  inboxUrl: z.string().optional(),
  /** The `Authorization` header for the inbox. */
  inboxAuthorization: z.string().optional(),
  /** The addresses and keys that the API and the worker were started with. */
  environment: z.record(z.string(), z.string()),
})
export type LocalInstance = z.output<typeof LocalInstance>

/** The folder for all local data: DATA_DIR, by default `.rapport` in the project. */
export function dataDirectoryOf(environment: Record<string, string | undefined>): string {
  return resolve(projectDirectory, environment['DATA_DIR'] || '.rapport')
}

/** The file contains secrets: only its owner can read it. */
export const localFileOf = (dataDirectory: string) => join(dataDirectory, 'local.json')

/**
 * Finds the installation that `start` runs on this machine; undefined if there is none, or if the environment names
 * another one. A command for another installation must not reach the local one, and a key must not be used with another
 * database.
 */
export async function findLocalInstance(
  environment: Record<string, string | undefined>,
): Promise<LocalInstance | undefined> {
  const file = localFileOf(dataDirectoryOf(environment))
  const text = await readFile(file, 'utf8').catch(() => '{}')
  try {
    const local = z.object({ running: LocalInstance }).safeParse(JSON.parse(text)).data?.running
    return local && isSameInstallation(local, environment) ? local : undefined
  } catch {
    return undefined
  }
}

const isSameInstallation = (local: LocalInstance, environment: Environment) =>
  Object.entries(pick(environment, addressNames)).every(([name, value]) => local.environment[name] === value)

/** Identify an installation. */
const addressNames = [
  ['DATABASE_URL', 'REDIS_URL', 'SMTP_URL', 'PUBLIC_URL', 'SECRET_KEY', 'SECRET_KEY_PREVIOUS', 'MAIL_FROM'],
  ['HOST', 'PORT', 'WEBHOOK_ALLOWED_NETWORKS'],
].flat()

/** What `rapport doctor` checks, and commands for operators show. */
const settingNames = [
  ['RETURN_PATH_DOMAIN', 'BOUNCE_HOST', 'BOUNCE_PORT', 'BOUNCE_IMAP_URL', 'DNS_SERVER'],
  ['DKIM_DOMAIN', 'DKIM_SELECTOR', 'DKIM_PRIVATE_KEY'],
  ['SIGN_UP', 'MAIL_FROM_DOMAINS', 'REQUIRE_VERIFIED_EMAIL', 'REQUIRE_VERIFIED_DOMAIN'],
  ['TRUST_PROXY', 'RATE_LIMIT_EXEMPT', 'RETENTION_EVENTS_DAYS'],
  Object.keys(quotaVariables),
].flat()

type Environment = Record<string, string | undefined>

/** Returns the variables of an environment that describe its installation. */
export const describeInstallation = (environment: Environment): Record<string, string> =>
  pick(environment, [...addressNames, ...settingNames])

function pick(environment: Environment, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = environment[name]
      return value ? [[name, value]] : []
    }),
  )
}

/** Completes an environment with the addresses of its local installation. */
export function withLocalAddresses(environment: Environment, local: LocalInstance | undefined): Environment {
  return { ...environment, ...local?.environment, ...pick(environment, settingNames) }
}
