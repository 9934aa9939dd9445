import { hash, verify } from '@node-rs/argon2'
import { invalidField } from '../kernel/errors.ts'
import { limitConcurrency } from '../kernel/limit-concurrency.ts'
import list from './common-passwords.json' with { type: 'json' }

/** OWASP's minimum for argon2id, which is the library's default algorithm. Memory in KiB. */
const parameters = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

const commonPasswords = new Set(list)

/** A hash takes memory and a thread for some fifteen milliseconds, by intent: two at a time leave the rest to requests. */
const runHashing = limitConcurrency(2, { maxWaiting: 32, message: 'Too many passwords at once, try again' })

/** Stands in where there is no user, so that an unknown address takes as long as a wrong password. */
const dummyHash = hash('nobody has this password', parameters)

/** Refuses passwords that attackers try first. Throws `invalid`. */
export function checkPassword(password: string, email: string): void {
  const lowered = password.toLowerCase()
  if (commonPasswords.has(lowered) || lowered === email.toLowerCase() || /^(.)\1+$/.test(lowered)) {
    throw invalidField('password', 'password: is too common, choose another')
  }
}

/** What is stored of a password. Throws `unavailable` when too many others are being worked on. */
export function hashPassword(password: string): Promise<string> {
  return runHashing(() => hash(password, parameters))
}

/**
 * Whether it is the password. Takes the same time when there is no user to compare with. Throws `unavailable` when too
 * many others are being worked on.
 */
export async function verifyPassword(passwordHash: string | undefined, password: string): Promise<boolean> {
  const matches = await runHashing(async () => verify(passwordHash ?? (await dummyHash), password))
  return matches && passwordHash !== undefined
}
