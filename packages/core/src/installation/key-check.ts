/**
 * Detects a wrong SECRET_KEY: the first start seals a value in the database, and each later start opens it. With a wrong
 * key, a process would seal, sign and hash values that no other process can use.
 */
import { desc, inArray, isNull, sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import { installation, webhooks } from '../db/schema/index.ts'
import { canUnseal, type Keys, seal, storageKeyIds } from '../kernel/crypto.ts'
import { ConfigError } from '../runtime/config.ts'

/** `former`: SECRET_KEY_PREVIOUS has the key. `unsealed`: no process has started, and no stored secret has another key. */
export type KeyState = 'current' | 'former' | 'unsealed' | 'wrong'

const boundTo = 'installation'

/** Changes nothing. Fails with `undefined_table` while migrations are pending. */
export async function readKeyState(db: Db, keys: Keys): Promise<KeyState> {
  const [row] = await db.select().from(installation)
  if (!row) return (await opensStoredSecret(db, keys)) ? 'unsealed' : 'wrong'
  if (!canUnseal(keys, row.sealedCheck, boundTo)) return 'wrong'
  return canUnseal({ ...keys, storage: [keys.storage[0]] }, row.sealedCheck, boundTo) ? 'current' : 'former'
}

/**
 * For the start of a process. Throws a ConfigError if the keys are wrong. Seals the value if it is missing, and seals it
 * again if it has a former key.
 */
export async function requireSecretKey(db: Db, keys: Keys): Promise<void> {
  const state = await readKeyState(db, keys)
  if (state === 'wrong') throw wrongKeyError(keys)
  if (state === 'former') await sealKeyCheck(db, keys)
  if (state !== 'unsealed') return
  await db
    .insert(installation)
    .values({ sealedCheck: sealValue(keys) })
    .onConflictDoNothing()
  // Another process may have been first, with another key.
  await requireSecretKey(db, keys)
}

/** Seals the value with the current key, whichever key it had. */
export async function sealKeyCheck(db: Db, keys: Keys): Promise<void> {
  const row = { sealedCheck: sealValue(keys) }
  await db.insert(installation).values(row).onConflictDoUpdate({ target: installation.id, set: row })
}

export function wrongKeyError({ storage }: Pick<Keys, 'storage'>): ConfigError {
  const lines = [
    'SECRET_KEY: is not the key of this database. Set that key, or add it to SECRET_KEY_PREVIOUS. If it is lost, see ' +
      'docs/key-rotation.md',
    ...(storage.length > 1 ? ['SECRET_KEY_PREVIOUS: does not contain the key of this database'] : []),
  ]
  return new ConfigError(`Invalid configuration:\n${lines.map((line) => `  ${line}`).join('\n')}`)
}

// Which value is sealed does not matter: it can only be opened with its key.
const sealValue = (keys: Keys) => seal(keys, 'SECRET_KEY', boundTo)

/** Whether the keys open the secret of a webhook, or no webhook has one: others may have a key that is lost. */
async function opensStoredSecret(db: Db, keys: Keys): Promise<boolean> {
  const hasKnownKey = inArray(sql`split_part(${webhooks.encryptedSecret}, '.', 1)`, storageKeyIds(keys))
  const [webhook] = await db
    .select({ id: webhooks.id, encryptedSecret: webhooks.encryptedSecret })
    .from(webhooks)
    .where(isNull(webhooks.deletedAt))
    .orderBy(desc(hasKnownKey))
    .limit(1)
  return webhook === undefined || canUnseal(keys, webhook.encryptedSecret, webhook.id)
}
