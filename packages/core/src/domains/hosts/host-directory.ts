import { and, isNotNull, isNull, eq } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { hosts, workspaces } from '../../db/schema/index.ts'
import { withTimeout } from '../../kernel/concurrency/with-timeout.ts'
import { AppError } from '../../kernel/errors.ts'
import { normalizeDomain } from '../../kernel/validation.ts'
import type { PagesHost, Settings } from '../../request/context.ts'
import { installationHost } from './host-name.ts'

export interface HostDirectory {
  /** Finds whose pages a host serves. `host` is as a request names it, with or without a port. */
  find(host: string): Promise<PagesHost | undefined>
  isInstallation(host: string): boolean
}

interface Options {
  db: Db
  settings: Pick<Settings, 'publicUrl'>
  /** The age of what is in memory. */
  ttlMs: number
  /** How long a request waits for the database. */
  timeoutMs: number
}

/**
 * Keeps the hosts of all workspaces in memory, and reads them again when a request names a host that is neither that of
 * the installation nor an address. While the database is away, the last ones count. Before they were ever read, `find`
 * throws `unavailable`.
 */
export function createHostDirectory({ db, settings, ttlMs, timeoutMs }: Options): HostDirectory {
  const own = installationHost(settings)
  let known: ReadonlyMap<string, PagesHost> | undefined
  let endsAt = -Infinity
  let reading: Promise<void> | undefined

  async function read(): Promise<void> {
    // Also after a failure: a database that hangs must not delay every request.
    const next = performance.now() + ttlMs
    known = await withTimeout(readHosts(db), timeoutMs).catch(() => known)
    endsAt = next
    reading = undefined
  }
  const isInstallation = (host: string) => withoutPort(host).toLowerCase().replace(/\.$/, '') === own
  return {
    isInstallation,
    async find(host) {
      if (!host.includes('.') || isInstallation(host)) return undefined
      const name = normalizeDomain(withoutPort(host))
      if (name === undefined) return undefined
      if (performance.now() >= endsAt) await (reading ??= read())
      if (!known) throw new AppError('unavailable', 'The database has not responded yet; try again')
      return known.get(name)
    },
  }
}

const withoutPort = (host: string) => host.replace(/:\d+$/, '')

async function readHosts(db: Db): Promise<ReadonlyMap<string, PagesHost>> {
  const rows = await db
    .select({ host: hosts.host, workspaceId: hosts.workspaceId, formerWorkspaceIds: hosts.formerWorkspaceIds })
    .from(hosts)
    .innerJoin(workspaces, eq(workspaces.id, hosts.workspaceId))
    .where(and(isNotNull(hosts.verifiedAt), isNull(workspaces.deletedAt)))
  return new Map(rows.map(({ host, ...pagesHost }) => [host, pagesHost]))
}
