/** How words and names are compared: without case, accents and separators. */
import { showInvisible, startOfText, toNormalForm, trimInvisible } from '../../kernel/values/text.ts'

/** Lists of names and words stand as one text. */
export const toWords = (text: string): string[] => text.trim().split(/\s+/)

export const keysByWord = <Key extends string>(lists: Readonly<Record<Key, string>>): Map<string, Key> =>
  new Map((Object.keys(lists) as Key[]).flatMap((key) => toWords(lists[key]).map((word) => [word, key] as const)))

export const toPlain = (text: string) => toNormalForm(text, 'NFD').toLowerCase().replaceAll(/\p{M}/gu, '')

/** "First Name", "first_name" and "FIRSTNAME" are the same name. */
export const normalizeName = (name: string) =>
  toNormalForm(trimInvisible(name), 'NFKC')
    .toLowerCase()
    .replaceAll(/[\s\p{Cf}_.-]+/gu, '')

/** Only letters and digits, such as `createdatutc` for `Created At (UTC)`. */
export const toLetters = (name: string) => toPlain(normalizeName(name)).replaceAll(/[^\p{L}\p{N}]/gu, '')

/** Makes a name from a file safe to show and to store. Shows invisible characters as `\u200b`. */
export const toPrintable = (name: string) => showInvisible(startOfText(name, 60))
