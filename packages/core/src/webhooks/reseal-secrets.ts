/** Encrypts the stored secrets of webhooks again after a change of SECRET_KEY, so that the former key is not needed. */
import { and, eq, isNull, sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import { uuidOf } from '../kernel/ids.ts'
import { webhooks } from '../db/schema/index.ts'
import { type Keys, seal, storageKeyIds, unseal } from '../kernel/crypto.ts'
import { transaction } from '../db/transaction.ts'

export interface ResealResult {
  /** The number of webhooks whose secrets were sealed again, under the current key. */
  resealed: number
  /** The number of webhooks with a secret that no known key can unseal. Such a secret is not changed. */
  lost: number
}

const batchSize = 100

/**
 * Seals the secrets of all webhooks under the current SECRET_KEY. Works in small transactions, so that it can run while
 * deliveries are sent. It can be interrupted and repeated: it skips webhooks that are already done.
 */
export async function resealSecrets(db: Db, keys: Keys): Promise<ResealResult> {
  const total = { resealed: 0, lost: 0 }
  for (let after: WebhookKey | undefined = firstKey; after; ) {
    const step: ResealResult & { last: WebhookKey | undefined } = await resealNextBatch(db, keys, after)
    total.resealed += step.resealed
    total.lost += step.lost
    after = step.last
  }
  return total
}

interface WebhookKey {
  workspaceId: string
  id: string
}

const nil = '00000000-0000-0000-0000-000000000000'
const firstKey: WebhookKey = { workspaceId: nil, id: nil }

function resealNextBatch(
  db: Db,
  keys: Keys,
  after: WebhookKey,
): Promise<ResealResult & { last: WebhookKey | undefined }> {
  const [currentKeyId = ''] = storageKeyIds(keys)
  const hasFormerUnderOtherKey = sql`exists (
    select from jsonb_array_elements(${webhooks.formerSecrets}) former
    where split_part(former ->> 'encrypted', '.', 1) <> ${currentKeyId})`
  return transaction(db, async (db) => {
    const rows = await db
      .select()
      .from(webhooks)
      .where(
        and(
          isNull(webhooks.deletedAt),
          sql`(${webhooks.workspaceId}, ${webhooks.id}) > (${after.workspaceId}::uuid, ${after.id}::uuid)`,
          sql`(split_part(${webhooks.encryptedSecret}, '.', 1) <> ${currentKeyId} or ${hasFormerUnderOtherKey})`,
        ),
      )
      .orderBy(webhooks.workspaceId, webhooks.id)
      .limit(batchSize)
      .for('no key update')
    let lost = 0
    for (const { workspaceId, id, encryptedSecret, formerSecrets } of rows) {
      const canUnseal = (sealed: string) => tryToUnseal(keys, sealed, id) !== undefined
      const reseal = (sealed: string) => {
        const secret = tryToUnseal(keys, sealed, id)
        return secret === undefined ? sealed : seal(keys, secret, id)
      }
      if (![encryptedSecret, ...formerSecrets.map(({ encrypted }) => encrypted)].every(canUnseal)) lost += 1
      await db
        .update(webhooks)
        .set({
          encryptedSecret: reseal(encryptedSecret),
          formerSecrets: formerSecrets.map(({ encrypted, until }) => ({ encrypted: reseal(encrypted), until })),
        })
        .where(and(eq(webhooks.workspaceId, workspaceId), eq(webhooks.id, id)))
    }
    const last = rows.length === batchSize ? rows.at(-1) : undefined
    return {
      resealed: rows.length - lost,
      lost,
      last: last && { workspaceId: uuidOf(last.workspaceId), id: uuidOf(last.id) },
    }
  })
}

function tryToUnseal(keys: Keys, sealed: string, id: string): string | undefined {
  try {
    return unseal(keys, sealed, id)
  } catch {
    return undefined
  }
}
