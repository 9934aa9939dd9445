import { eq, ne } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import { domains, hosts } from '../db/schema/index.ts'
import type { DomainRow } from './domain-records.ts'

/**
 * Lists the domains of all workspaces that are or were VERIFIED, and counts them. Those that were not checked for longest
 * are first.
 */
export async function listSendingDomains(db: Db, limit: number): Promise<{ rows: DomainRow[]; count: number }> {
  const wasVerified = ne(domains.status, 'PENDING')
  const rows = await db.select().from(domains).where(wasVerified).orderBy(domains.checkedAt, domains.id).limit(limit)
  return { rows, count: await db.$count(domains, wasVerified) }
}

/** Lists the hosts that links of workspaces are under, and counts them. */
export async function listCurrentHosts(db: Db, limit: number): Promise<{ hosts: string[]; count: number }> {
  const rows = await db
    .select({ host: hosts.host })
    .from(hosts)
    .where(eq(hosts.isCurrent, true))
    .orderBy(hosts.host)
    .limit(limit)
  return { hosts: rows.map(({ host }) => host), count: await db.$count(hosts, eq(hosts.isCurrent, true)) }
}
