import type { Db } from '../db/client.ts'
import { type ResealResult, resealRows } from '../db/sealed-rows.ts'
import { sealedDomains } from '../domains/sealed-domains.ts'
import type { Keys } from '../kernel/crypto.ts'
import { sealedMailHooks } from '../mail-hooks/sealed-mail-hooks.ts'
import { sealedWebhooks } from '../webhooks/sealed-webhooks.ts'

/** Seals the secrets of webhooks and mail hooks, and the private keys of domains, under the current SECRET_KEY. */
export async function resealSecrets(db: Db, keys: Keys): Promise<ResealResult> {
  const results: ResealResult[] = []
  for (const table of [sealedWebhooks, sealedMailHooks, sealedDomains]) results.push(await resealRows(db, keys, table))
  return {
    resealed: results.reduce((sum, { resealed }) => sum + resealed, 0),
    lost: results.reduce((sum, { lost }) => sum + lost, 0),
  }
}
