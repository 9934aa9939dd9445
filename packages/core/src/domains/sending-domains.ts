import { ne } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import { domains } from '../db/schema/index.ts'
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
