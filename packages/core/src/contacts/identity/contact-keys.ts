/** What identifies a contact. */
export interface ContactKeys {
  email?: string | undefined
  externalId?: string | null | undefined
}

/** The key that found a contact. */
export type MatchedBy = 'externalId' | 'email' | 'none'

export function externalIdsOf(keys: readonly ContactKeys[]): string[] {
  return keys.flatMap(({ externalId }) => externalId ?? [])
}
