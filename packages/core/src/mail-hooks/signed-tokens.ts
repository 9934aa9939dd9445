import { sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import { mailHookTokens } from '../db/schema/index.ts'
import { hashToken } from '../kernel/crypto.ts'
import type { MailHookId } from '../kernel/ids.ts'

/**
 * Accepts a signed token once, in the caller's transaction. Returns whether it is new. A concurrent message with the same
 * token waits for that transaction.
 */
export async function acceptToken(db: Db, hookId: MailHookId, token: string): Promise<boolean> {
  const inserted = await db
    .insert(mailHookTokens)
    .values({ hookId, tokenHash: hashToken(token) })
    .onConflictDoNothing()
    .returning({ hookId: mailHookTokens.hookId })
  return inserted.length > 0
}

/** Deletes up to 1,000 tokens that are older than any message that is accepted. Returns their number. */
export async function purgeHookTokens(db: Db): Promise<number> {
  const result = await db.execute(sql`
    delete from mail_hook_tokens where (hook_id, token_hash) in (
      select hook_id, token_hash from mail_hook_tokens where created_at < now() - interval '2 days' limit 1000)`)
  return result.rowCount ?? 0
}
