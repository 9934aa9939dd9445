/** What `start` leaves on disk of the installation it runs on this machine, so that other programs find it by themselves. */
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'

export const projectDirectory = fileURLToPath(new URL('../../../../', import.meta.url))

/** An installation that runs, or did when its launcher was killed. */
export const LocalInstance = z.object({
  apiUrl: z.string(),
  apiKey: z.string(),
  /** The mail inbox in the browser. Absent if mails go to another server. */
  inboxUrl: z.string().optional(),
  /** Where its parts are, as the API and the worker were told. */
  environment: z.record(z.string(), z.string()),
})
export type LocalInstance = z.output<typeof LocalInstance>

/** The folder for everything local: DATA_DIR, else `.rapport` in the project. */
export function dataDirectoryOf(environment: Record<string, string | undefined>): string {
  return resolve(projectDirectory, environment['DATA_DIR'] || '.rapport')
}

/** Secrets are in it: it is readable by its owner alone. */
export const localFileOf = (dataDirectory: string) => join(dataDirectory, 'local.json')

/** The installation that `start` runs here; undefined when there is none. */
export async function findLocalInstance(
  environment: Record<string, string | undefined>,
): Promise<LocalInstance | undefined> {
  const file = localFileOf(dataDirectoryOf(environment))
  const text = await readFile(file, 'utf8').catch(() => '{}')
  try {
    return z.object({ running: LocalInstance }).safeParse(JSON.parse(text)).data?.running
  } catch {
    return undefined
  }
}

const addressNames = [
  ['DATABASE_URL', 'REDIS_URL', 'SMTP_URL', 'PUBLIC_URL', 'SECRET_KEY', 'SECRET_KEY_PREVIOUS', 'MAIL_FROM'],
  ['HOST', 'PORT', 'WEBHOOK_ALLOWED_NETWORKS'],
].flat()

/** What of an environment says where an installation's parts are. */
export function addressesIn(environment: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(
    addressNames.flatMap((name) => {
      const value = environment[name]
      return value ? [[name, value]] : []
    }),
  )
}

/**
 * The environment, with the addresses of the local installation where it names none. Where it names another, nothing is
 * filled in: one installation's key must never be used on the other's database.
 */
export function withLocalAddresses(
  environment: Record<string, string | undefined>,
  local: LocalInstance | undefined,
): Record<string, string | undefined> {
  const configured = addressesIn(environment)
  const isSame = Object.entries(configured).every(([name, value]) => local?.environment[name] === value)
  return isSame ? { ...environment, ...local?.environment } : environment
}
