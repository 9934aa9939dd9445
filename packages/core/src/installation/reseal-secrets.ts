import type { Db } from '../db/client.ts'
import { type ResealResult, resealRows } from '../db/sealed-rows.ts'
import { sealedDomains } from '../domains/sealed-domains.ts'
import { sealedEmails } from '../emails/sealed-emails.ts'
import type { Keys } from '../kernel/crypto.ts'
import { sealedMailHooks } from '../mail-hooks/sealed-mail-hooks.ts'
import { sealedWebhooks } from '../webhooks/sealed-webhooks.ts'

/** Seals the secrets of webhooks and mail hooks, the private keys of domains, and the values of emails that wait, under the current SECRET_KEY. */
export async function resealSecrets(db: Db, keys: Keys): Promise<ResealResult> {
  const results: ResealResult[] = []
  for (const table of [sealedWebhooks, sealedMailHooks, sealedDomains, sealedEmails])
    results.push(await resealRows(db, keys, table))
  return {
    resealed: results.reduce((sum, { resealed }) => sum + resealed, 0),
    lost: results.reduce((sum, { lost }) => sum + lost, 0),
  }
}
