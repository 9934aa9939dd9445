/** What identifies a contact. */
export interface ContactKeys {
  email?: string | undefined
  externalId?: string | null | undefined
}

/** The key that found a contact. */
export type MatchedBy = 'externalId' | 'email' | 'none'

/** Addresses are compared without their case. */
export const emailKey = (email: string) => email.toLowerCase()

export function externalIdsOf(keys: readonly ContactKeys[]): string[] {
  return keys.flatMap(({ externalId }) => externalId ?? [])
}
