import { startOfText } from '../kernel/values/text.ts'

const maxLength = 100

/**
 * Returns a name as it appears in a mail from the address of the operator. Mail programs turn URLs, domains and
 * addresses into links, so the name keeps its words but none of these: `Acme.com` becomes `Acme com`.
 */
export function toMailName(name: string): string {
  const plain = name
    // Characters that change the direction of text or are invisible.
    .replace(/[\u00ad\u200b\u2028-\u202e\u2060-\u2069\ufeff]/g, '')
    .replace(/\w+:\/\/+|\/\/+/g, ' ')
    .replace(/[@＠﹫]/g, ' at ')
    .replace(/(?<=\S)[.․。．｡﹒](?=\S)/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim()
  return plain.length > maxLength ? `${startOfText(plain, maxLength).trim()}…` : plain
}
