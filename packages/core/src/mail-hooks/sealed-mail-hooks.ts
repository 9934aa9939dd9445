import { and, eq, sql } from 'drizzle-orm'
import { mailHooks } from '../db/schema/index.ts'
import type { SealedTable } from '../db/sealed-rows.ts'
import { transaction } from '../db/transaction.ts'
import { idOf, nilUuid, uuidOf } from '../kernel/ids.ts'

/** The secrets of mail hooks. The key of a row is its id alone: a hook of the installation has no workspace. */
export const sealedMailHooks: SealedTable = {
  async findBatch(db, currentKeyId, { after, limit }) {
    const isUnderOtherKey = sql`split_part(${mailHooks.encryptedSecret}, '.', 1) <> ${currentKeyId}`
    const rows = await db
      .select({ id: mailHooks.id })
      .from(mailHooks)
      .where(and(sql`${mailHooks.id} > ${after.id}::uuid`, isUnderOtherKey))
      .orderBy(mailHooks.id)
      .limit(limit)
    return rows.map(({ id }) => ({ workspaceId: nilUuid, id: uuidOf(id) }))
  },
  resealRow(db, { id: uuid }, reseal) {
    const isHook = eq(mailHooks.id, idOf('mhk', uuid))
    return transaction(db, async (db) => {
      const [row] = await db.select().from(mailHooks).where(isHook).for('no key update')
      if (!row) return false
      await db
        .update(mailHooks)
        .set({ encryptedSecret: reseal(row.encryptedSecret, row.id) })
        .where(isHook)
      return true
    })
  },
}
