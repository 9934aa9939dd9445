/** The users of a made-up product, in memory. Replace them with a table of your database. */
import { randomBytes, randomUUID } from 'node:crypto'

export interface User {
  id: string
  email: string
  firstName: string
  /** Of the link that verifies the address. */
  verifyToken: string
  isVerified: boolean
}

const users = new Map<string, User>()

/** Returns the user with the address, a new one if there is none. */
export function findOrCreateUser({ email, firstName }: Pick<User, 'email' | 'firstName'>): User {
  const key = email.toLowerCase()
  const verifyToken = randomBytes(32).toString('base64url')
  const user = users.get(key) ?? { id: `usr_${randomUUID()}`, email, firstName, verifyToken, isVerified: false }
  users.set(key, user)
  return user
}

/** Verifies the address of the user with the token. Returns undefined if there is none. */
export function verifyUser(token: string): User | undefined {
  const user = [...users.values()].find(({ verifyToken }) => verifyToken === token)
  if (user) user.isVerified = true
  return user
}
