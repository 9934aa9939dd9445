/** Seals stored secrets again after a change of SECRET_KEY, so that the former key is not needed. */
import { canUnseal, type Keys, seal, storageKeyIds, unseal } from '../kernel/crypto.ts'
import { nilUuid } from '../kernel/ids.ts'
import type { Db } from './client.ts'

/** The key of a row, as UUIDs. */
export interface RowKey {
  workspaceId: string
  id: string
}

export interface ResealResult {
  /** The number of rows whose secrets were sealed again, under the current key. */
  resealed: number
  /** The number of rows with a secret that no known key can unseal. Such a secret is not changed. */
  lost: number
}

/** How a table with sealed secrets is read and changed. */
export interface SealedTable {
  /** Finds the first rows after a key that have a secret under another key, in the order of their keys. */
  findBatch: (db: Db, currentKeyId: string, page: { after: RowKey; limit: number }) => Promise<RowKey[]>
  /** Changes a row in a transaction of its own. Returns whether it still exists. */
  resealRow: (db: Db, key: RowKey, reseal: Reseal) => Promise<boolean>
}

/** Returns the value under the current key, or the same value if it cannot be unsealed. */
export type Reseal = (sealed: string, boundTo: string) => string

const batchSize = 100

/**
 * Seals the secrets of a table, with a transaction for each row, so that it can run while the secrets are used. It can
 * be interrupted and repeated: it skips rows that are already done.
 */
export async function resealRows(db: Db, keys: Keys, { findBatch, resealRow }: SealedTable): Promise<ResealResult> {
  const [currentKeyId = ''] = storageKeyIds(keys)
  const total = { resealed: 0, lost: 0 }
  let after: RowKey | undefined = { workspaceId: nilUuid, id: nilUuid }
  while (after) {
    const batch: RowKey[] = await findBatch(db, currentKeyId, { after, limit: batchSize })
    for (const key of batch) {
      const lost = new Set<string>()
      const reseal: Reseal = (sealed, boundTo) => {
        if (canUnseal(keys, sealed, boundTo)) return seal(keys, unseal(keys, sealed, boundTo), boundTo)
        lost.add(sealed)
        return sealed
      }
      if (await resealRow(db, key, reseal)) total[lost.size > 0 ? 'lost' : 'resealed'] += 1
    }
    after = batch.length < batchSize ? undefined : batch.at(-1)
  }
  return total
}
