import { hash, verify } from '@node-rs/argon2'
import { AppError, invalidField } from '../kernel/errors.ts'
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

/** What is stored of a password. Throws `unavailable` when too many others are being worked on. */
export function hashPassword(password: string): Promise<string> {
  return inTurn(() => hash(password, parameters))
}

/**
 * Whether it is the password. Takes the same time when there is no user to compare with. Throws `unavailable` when too
 * many others are being worked on.
 */
export async function isPassword(passwordHash: string | undefined, password: string): Promise<boolean> {
  const matches = await inTurn(async () => verify(passwordHash ?? (await nobodysHash), password))
  return matches && passwordHash !== undefined
}

const atOnce = 2
const maxWaiting = 32
let running = 0
const waiting: (() => void)[] = []

/**
 * A password costs memory and a thread for some fifteen milliseconds, by intent: two at a time leave the rest of the
 * process quick, and whoever would wait long is told to come again.
 */
async function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
  if (running < atOnce) running += 1
  else {
    if (waiting.length >= maxWaiting) throw new AppError('unavailable', 'Too many passwords at once, try again')
    await new Promise<void>((resolve) => waiting.push(resolve))
  }
  try {
    return await work()
  } finally {
    // Who waits takes over the place of who is done.
    const next = waiting.shift()
    if (next) next()
    else running -= 1
  }
}
