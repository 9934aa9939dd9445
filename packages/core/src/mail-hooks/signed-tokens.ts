import { lt, sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import { mailHookTokens } from '../db/schema/index.ts'
import { purgeRows } from '../db/statements/purge-rows.ts'
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
export const purgeHookTokens = (db: Db): Promise<number> =>
  purgeRows(db, mailHookTokens, lt(mailHookTokens.createdAt, sql`now() - interval '2 days'`))
