import { and, eq, sql } from 'drizzle-orm'
import { emails } from '../db/schema/index.ts'
import type { SealedTable } from '../db/sealed-rows.ts'
import { transaction } from '../db/transaction.ts'
import { idOf, uuidOf } from '../kernel/ids.ts'

/** The values of the emails that wait. */
export const sealedEmails: SealedTable = {
  async findBatch(db, currentKeyId, { after, limit }) {
    const rows = await db
      .select({ workspaceId: emails.workspaceId, id: emails.id })
      .from(emails)
      .where(
        and(
          eq(emails.status, 'PENDING'),
          sql`(${emails.workspaceId}, ${emails.id}) > (${after.workspaceId}::uuid, ${after.id}::uuid)`,
          sql`split_part(${emails.sealedData}, '.', 1) <> ${currentKeyId}`,
        ),
      )
      .orderBy(emails.workspaceId, emails.id)
      .limit(limit)
    return rows.map(({ workspaceId, id }) => ({ workspaceId: uuidOf(workspaceId), id: uuidOf(id) }))
  },
  resealRow(db, key, reseal) {
    const isEmail = and(eq(emails.workspaceId, idOf('wsp', key.workspaceId)), eq(emails.id, idOf('mai', key.id)))
    return transaction(db, async (db) => {
      const [row] = await db.select().from(emails).where(isEmail).for('no key update')
      if (!row?.sealedData) return false
      await db
        .update(emails)
        .set({ sealedData: reseal(row.sealedData, row.id) })
        .where(isEmail)
      return true
    })
  },
}
