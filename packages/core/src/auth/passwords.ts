import { hash, verify } from '@node-rs/argon2'
import { invalidField } from '../errors.ts'
import list from './common-passwords.json' with { type: 'json' }

/** OWASP's minimum for argon2id, which is the library's default algorithm. Memory in KiB. */
const parameters = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

const commonPasswords = new Set(list)

/** Stands in where there is no user, so that an unknown address takes as long as a wrong password. */
const nobodysHash = hash('nobody has this password', parameters)

/** Refuses passwords that attackers try first. Throws `invalid`. */
export function checkPassword(password: string, email: string): void {
  const lowered = password.toLowerCase()
  if (commonPasswords.has(lowered) || lowered === email.toLowerCase() || /^(.)\1+$/.test(lowered)) {
    throw invalidField('password', 'password: is too common, choose another')
  }
}

export function hashPassword(password: string): Promise<string> {
  return hash(password, parameters)
}

/** Whether it is the password. Takes the same time when there is no user to compare with. */
export async function isPassword(passwordHash: string | undefined, password: string): Promise<boolean> {
  const matches = await verify(passwordHash ?? (await nobodysHash), password)
  return matches && passwordHash !== undefined
}
