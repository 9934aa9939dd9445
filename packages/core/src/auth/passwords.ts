import { hash, verify } from '@node-rs/argon2'
import { invalidField } from '../kernel/errors.ts'
import { limitConcurrency } from '../kernel/concurrency/limit-concurrency.ts'
import type { PasswordCost } from '../request/context.ts'
import list from './common-passwords.json' with { type: 'json' }

/** OWASP's minimum for argon2id, the library's default algorithm. */
export const defaultPasswordCost: PasswordCost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

const commonPasswords = new Set(list)

const queue = { maxWaiting: 32, message: 'Too many concurrent password checks; try again' }
/**
 * A hash occupies a thread for about 15 ms by design. Only three of the four threads hash, so that requests get the
 * last one. Clients that have logged in before have a thread and a queue of their own, which others cannot fill.
 */
const hashingSlots = { known: limitConcurrency(1, queue), unknown: limitConcurrency(2, queue) }

/** Verified when the user does not exist, so that an unknown address takes as long as a wrong password. */
const dummyHash = hash('no user has this password', defaultPasswordCost)

/** Rejects common passwords with `validation_error`. */
export function checkPassword(password: string, email: string): void {
  const lowered = password.toLowerCase()
  if (commonPasswords.has(lowered) || lowered === email.toLowerCase() || /^(.)\1+$/.test(lowered)) {
    throw invalidField('password', 'password: is too common; choose another')
  }
}

/** Returns the hash to store. Throws `unavailable` when too many passwords are waiting. */
export function hashPassword(password: string, cost = defaultPasswordCost): Promise<string> {
  return hashingSlots.unknown(() => hash(password, cost))
}

/**
 * Returns whether the password matches the hash. Takes the same time without a hash, which matches nothing. Throws
 * `unavailable` when too many passwords of such clients are waiting.
 */
export async function verifyPassword(
  passwordHash: string | undefined,
  password: string,
  client: keyof typeof hashingSlots = 'unknown',
): Promise<boolean> {
  const matches = await hashingSlots[client](async () => verify(passwordHash ?? (await dummyHash), password))
  return matches && passwordHash !== undefined
}
