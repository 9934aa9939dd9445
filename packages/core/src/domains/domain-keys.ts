/** The DKIM keys of a domain: one signs, the next one is published ahead, the former one still verifies. */
import { generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'
import type { DomainKey, DomainKeys } from '../db/schema/index.ts'
import { limitInTurns } from '../kernel/concurrency/limit-in-turns.ts'
import { type Keys, seal, unseal } from '../kernel/crypto.ts'
import type { DomainId } from '../kernel/ids.ts'
import type { Ctx, Settings } from '../request/context.ts'
import { timestampAt } from '../kernel/values/timestamps.ts'

/** How long the record of a replaced key must stay published: emails may be on their way, or be verified again. */
export const formerKeyDays = 7

const generate = promisify(generateKeyPair)
/** A key pair takes a thread for up to a second: one at a time, so that threads stay free for passwords and files. */
const runAlone = limitInTurns(1, { maxWaitMs: 15_000, message: 'Too many keys are being generated; try again' })

/** What receivers verify everywhere; the record of a longer key does not fit into one UDP packet. */
export const defaultKeyBits = 2_048

type KeySettings = Pick<Settings, 'keys' | 'domainKeyBits'>
type KeyCtx = Pick<Ctx, 'workspaceId'> & { settings: KeySettings }

/** Generates the keys of a new domain. Not within a transaction. */
export function createKeys({ workspaceId, settings }: KeyCtx, id: DomainId): Promise<DomainKeys> {
  return runAlone(workspaceId, async () => ({
    signing: await createKey(settings, id, 1),
    next: await createKey(settings, id, 2),
    former: null,
  }))
}

/** Generates the key that follows the keys of a domain. Not within a transaction. */
export function createFollowingKey(
  { workspaceId, settings }: KeyCtx,
  id: DomainId,
  { next }: DomainKeys,
): Promise<DomainKey> {
  return runAlone(workspaceId, () => createKey(settings, id, numberOf(next) + 1))
}

/** The next key signs from now on, the one before still verifies, and the following one is the next. */
export function rotateKeys({ signing, next }: DomainKeys, following: DomainKey): DomainKeys {
  const until = timestampAt(Date.now() + formerKeyDays * 24 * 60 * 60 * 1000)
  return { signing: next, next: following, former: { ...signing, until } }
}

/** The keys whose records must be published. */
export function publishedKeys({ signing, next, former }: DomainKeys): DomainKey[] {
  return former && Date.parse(former.until) > Date.now() ? [signing, next, former] : [signing, next]
}

/** Returns the private key in PEM. Throws if it was sealed with an unknown SECRET_KEY, or for another domain. */
export const privateKeyOf = (keys: Keys, id: DomainId, { sealedPrivateKey }: DomainKey): string =>
  unseal(keys, sealedPrivateKey, id)

async function createKey(
  { keys, domainKeyBits = defaultKeyBits }: KeySettings,
  id: DomainId,
  number: number,
): Promise<DomainKey> {
  const { publicKey, privateKey } = await generate('rsa', {
    modulusLength: domainKeyBits,
    publicKeyEncoding: { type: 'spki', format: 'der' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  return toDomainKey(keys, id, { number, publicKey: publicKey.toString('base64'), privateKey })
}

/** Seals a key pair for a domain. `number` counts the keys of the domain. */
export function toDomainKey(
  keys: Keys,
  id: DomainId,
  { number, publicKey, privateKey }: { number: number; publicKey: string; privateKey: string },
): DomainKey {
  return { selector: selectorOf(id, number), publicKey, sealedPrivateKey: seal(keys, privateKey, id) }
}

/**
 * Contains 60 random bits of the id: workspaces with the same domain have different records, and so has a domain that is
 * deleted and created again.
 */
const selectorOf = (id: DomainId, number: number) => `rp${number}-${id.slice(-12)}`
const numberOf = ({ selector }: DomainKey) => Number(/^rp(\d+)-/.exec(selector)?.[1])
