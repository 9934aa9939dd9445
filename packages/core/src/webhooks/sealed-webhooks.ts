import { and, eq, isNull, sql } from 'drizzle-orm'
import { webhooks } from '../db/schema/index.ts'
import type { SealedTable } from '../db/sealed-rows.ts'
import { transaction } from '../db/transaction.ts'
import { idOf, uuidOf } from '../kernel/ids.ts'

/** The secrets of webhooks, current and former ones. */
export const sealedWebhooks: SealedTable = {
  async findBatch(db, currentKeyId, { after, limit }) {
    const hasFormerUnderOtherKey = sql`exists (
      select from jsonb_array_elements(${webhooks.formerSecrets}) former
      where split_part(former ->> 'encrypted', '.', 1) <> ${currentKeyId})`
    const rows = await db
      .select({ workspaceId: webhooks.workspaceId, id: webhooks.id })
      .from(webhooks)
      .where(
        and(
          isNull(webhooks.deletedAt),
          sql`(${webhooks.workspaceId}, ${webhooks.id}) > (${after.workspaceId}::uuid, ${after.id}::uuid)`,
          sql`(split_part(${webhooks.encryptedSecret}, '.', 1) <> ${currentKeyId} or ${hasFormerUnderOtherKey})`,
        ),
      )
      .orderBy(webhooks.workspaceId, webhooks.id)
      .limit(limit)
    return rows.map(({ workspaceId, id }) => ({ workspaceId: uuidOf(workspaceId), id: uuidOf(id) }))
  },
  resealRow(db, key, reseal) {
    const isWebhook = and(
      eq(webhooks.workspaceId, idOf('wsp', key.workspaceId)),
      eq(webhooks.id, idOf('whk', key.id)),
      isNull(webhooks.deletedAt),
    )
    return transaction(db, async (db) => {
      const [row] = await db.select().from(webhooks).where(isWebhook).for('no key update')
      if (!row) return false
      const { id, encryptedSecret, formerSecrets } = row
      await db
        .update(webhooks)
        .set({
          encryptedSecret: reseal(encryptedSecret, id),
          formerSecrets: formerSecrets.map(({ encrypted, until }) => ({ encrypted: reseal(encrypted, id), until })),
        })
        .where(isWebhook)
      return true
    })
  },
}
