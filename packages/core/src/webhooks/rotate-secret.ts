import { and, isNull, notInArray, sql } from 'drizzle-orm'
import { audit } from '../audit/audit.ts'
import type { Db } from '../db/client.ts'
import { webhooks } from '../db/schema/index.ts'
import { canUnseal, type Keys, seal, storageKeyIds } from '../kernel/crypto.ts'
import { AppError, notFound } from '../kernel/errors.ts'
import type { WebhookId } from '../kernel/ids.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { lockActor } from '../request/lock-actor.ts'
import { newSecret } from './signature.ts'
import { isLiveWebhook, readWebhook } from './webhooks.ts'
import type { CreatedWebhook } from './webhooks.schema.ts'
import { timestampAt } from '../kernel/values/timestamps.ts'

const formerSecretLifetimeMs = 24 * 60 * 60 * 1000
const maxFormerSecrets = 5

/** Replaces the secret. Only this result contains the new one. For 24 hours, the former secret also signs. */
export function rotateSecret(ctx: Ctx, id: WebhookId): Promise<CreatedWebhook> {
  return inTransaction(ctx, async (ctx) => {
    await lockActor(ctx)
    const [current] = await ctx.db.select().from(webhooks).where(isLiveWebhook(ctx, id)).for('no key update')
    if (!current) throw notFound('Webhook')
    const until = timestampAt(Date.now() + formerSecretLifetimeMs)
    const formerSecrets = [{ encrypted: current.encryptedSecret, until }, ...current.formerSecrets]
      .filter((former) => new Date(former.until).getTime() > Date.now())
      // A secret that cannot be unsealed, because its SECRET_KEY was lost, must not prevent the rotation.
      .filter(({ encrypted }) => canUnseal(ctx.settings.keys, encrypted, id))
    if (formerSecrets.length > maxFormerSecrets) {
      const message = `A secret can be rotated at most ${maxFormerSecrets} times in 24 hours`
      const firstEnd = Math.min(...formerSecrets.map((former) => Date.parse(former.until)))
      throw new AppError('quota_exceeded', message, { retryAfterSeconds: Math.ceil((firstEnd - Date.now()) / 1_000) })
    }
    const secret = newSecret()
    await ctx.db
      .update(webhooks)
      .set({ encryptedSecret: seal(ctx.settings.keys, secret, id), formerSecrets })
      .where(isLiveWebhook(ctx, id))
    await audit(ctx, 'webhook.secret_rotated', { subjectId: id })
    return { ...(await readWebhook(ctx, id)), secret }
  })
}

/** Counts the webhooks, in all workspaces, whose secret is sealed under an unknown SECRET_KEY. */
export async function countUnsignableWebhooks(db: Db, keys: Keys): Promise<number> {
  const keyId = sql`split_part(${webhooks.encryptedSecret}, '.', 1)`
  return db.$count(webhooks, and(isNull(webhooks.deletedAt), notInArray(keyId, storageKeyIds(keys))))
}
