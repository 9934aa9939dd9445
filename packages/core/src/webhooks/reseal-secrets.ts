/** Encrypts the stored secrets of webhooks again after a change of SECRET_KEY, so that the former key is not needed. */
import { and, eq, isNull, sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import { idOf, uuidOf } from '../kernel/ids.ts'
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
 * Seals the secrets of all webhooks under the current SECRET_KEY, with a transaction for each webhook, so that it can run
 * while deliveries are sent. It can be interrupted and repeated: it skips webhooks that are already done.
 */
export async function resealSecrets(db: Db, keys: Keys): Promise<ResealResult> {
  const total = { resealed: 0, lost: 0 }
  for (let batch = await findNextBatch(db, keys, firstKey); batch.length > 0; ) {
    for (const key of batch) {
      const outcome = await resealSecretsOf(db, keys, key)
      if (outcome) total[outcome] += 1
    }
    const last = batch.at(-1) ?? firstKey
    batch = batch.length < batchSize ? [] : await findNextBatch(db, keys, last)
  }
  return total
}

interface WebhookKey {
  workspaceId: string
  id: string
}

const nil = '00000000-0000-0000-0000-000000000000'
const firstKey: WebhookKey = { workspaceId: nil, id: nil }

/** Finds the next webhooks with a secret under another key, in the order of their keys. */
async function findNextBatch(db: Db, keys: Keys, after: WebhookKey): Promise<WebhookKey[]> {
  const [currentKeyId = ''] = storageKeyIds(keys)
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
    .limit(batchSize)
  return rows.map(({ workspaceId, id }) => ({ workspaceId: uuidOf(workspaceId), id: uuidOf(id) }))
}

/** Returns undefined if the webhook has been deleted. */
function resealSecretsOf(db: Db, keys: Keys, key: WebhookKey): Promise<keyof ResealResult | undefined> {
  const isWebhook = and(
    eq(webhooks.workspaceId, idOf('wsp', key.workspaceId)),
    eq(webhooks.id, idOf('whk', key.id)),
    isNull(webhooks.deletedAt),
  )
  return transaction(db, async (db) => {
    const [row] = await db.select().from(webhooks).where(isWebhook).for('no key update')
    if (!row) return undefined
    const { id, encryptedSecret, formerSecrets } = row
    const canUnseal = (sealed: string) => tryToUnseal(keys, sealed, id) !== undefined
    const reseal = (sealed: string) => {
      const secret = tryToUnseal(keys, sealed, id)
      return secret === undefined ? sealed : seal(keys, secret, id)
    }
    await db
      .update(webhooks)
      .set({
        encryptedSecret: reseal(encryptedSecret),
        formerSecrets: formerSecrets.map(({ encrypted, until }) => ({ encrypted: reseal(encrypted), until })),
      })
      .where(isWebhook)
    return [encryptedSecret, ...formerSecrets.map(({ encrypted }) => encrypted)].every(canUnseal) ? 'resealed' : 'lost'
  })
}

function tryToUnseal(keys: Keys, sealed: string, id: string): string | undefined {
  try {
    return unseal(keys, sealed, id)
  } catch {
    return undefined
  }
}
