import { and, eq, sql } from 'drizzle-orm'
import { type DomainKey, domains } from '../db/schema/index.ts'
import type { SealedTable } from '../db/sealed-rows.ts'
import { transaction } from '../db/transaction.ts'
import { idOf, uuidOf } from '../kernel/ids.ts'

/** The private keys of domains. */
export const sealedDomains: SealedTable = {
  async findBatch(db, currentKeyId, { after, limit }) {
    const hasKeyUnderOtherKey = sql`exists (
      select from jsonb_each(${domains.keys}) key
      where split_part(key.value ->> 'sealedPrivateKey', '.', 1) <> ${currentKeyId})`
    const rows = await db
      .select({ workspaceId: domains.workspaceId, id: domains.id })
      .from(domains)
      .where(
        and(
          sql`(${domains.workspaceId}, ${domains.id}) > (${after.workspaceId}::uuid, ${after.id}::uuid)`,
          hasKeyUnderOtherKey,
        ),
      )
      .orderBy(domains.workspaceId, domains.id)
      .limit(limit)
    return rows.map(({ workspaceId, id }) => ({ workspaceId: uuidOf(workspaceId), id: uuidOf(id) }))
  },
  resealRow(db, key, reseal) {
    const isDomain = and(eq(domains.workspaceId, idOf('wsp', key.workspaceId)), eq(domains.id, idOf('dom', key.id)))
    return transaction(db, async (db) => {
      const [row] = await db.select().from(domains).where(isDomain).for('no key update')
      if (!row) return false
      const { id, keys } = row
      const resealKey = <Key extends DomainKey>(key: Key): Key => ({
        ...key,
        sealedPrivateKey: reseal(key.sealedPrivateKey, id),
      })
      await db
        .update(domains)
        .set({
          keys: {
            signing: resealKey(keys.signing),
            next: resealKey(keys.next),
            former: keys.former && resealKey(keys.former),
          },
        })
        .where(isDomain)
      return true
    })
  },
}
