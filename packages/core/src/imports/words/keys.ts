/** The keys of people as files write them: addresses as address books and mail programs show them, and external ids. */
import { Email } from '../../kernel/validation.ts'
import type { Issue } from '../../kernel/errors.ts'
import { findAddresses } from '../../kernel/values/addresses.ts'
import { ExternalId } from '../../kernel/values/external-id.ts'
import { toIssues } from '../../kernel/zod-messages.ts'
import { toWords } from './names.ts'

/** `1.23457E+14`, or `1.23457E14` (Java): several ids of a column become the same text. */
const shortened = /^[+-]?\d(?:(?:[.,]\d+)?e[+-]\d{2,3}|[.,]\d+e\d{1,3})$/i

export const ImportedExternalId = ExternalId.refine(
  (id) => !shortened.test(id),
  'was shortened by a spreadsheet: export the file again, and do not save it in a spreadsheet, or format the column as text',
)
  .nullable()
  .optional()

/** Returns the address in `"Lovelace, Ada" <ada@example.com>` or `mailto:ada@example.com`; any other text as it is. */
export function unwrapAddress(text: string): string {
  const trimmed = text.trim()
  if (!/[\s<>:;,'"()]/.test(trimmed)) return trimmed
  const [found, ...others] = findAddresses(trimmed)
  return found !== undefined && others.length === 0 ? found : trimmed
}

/** More is no list of addresses; the last of those that are read may be cut. */
const maxText = 2_000
const tooLong: Issue = { path: 'email', message: `must have at most ${maxText} characters: give each address a row` }
/** A name in quotation marks may have a comma, or another address. */
const splitList = (text: string) => text.replaceAll(/"(?:[^"\\]|\\.)*"(?=\s*<)/g, ' ').split(/[;,\r\n]/)

/** Reads every address in the text, and what is wrong with one of them. */
export function readAddresses(text: string): { emails: string[]; issue?: Issue } {
  if (text.length > maxText)
    return { emails: readAddresses(text.slice(0, maxText)).emails.slice(0, -1), issue: tooLong }
  const found = [...new Set(splitList(text).flatMap(findAddresses))]
  const results = (found.length > 0 ? found : [text]).map((address) => Email.safeParse(address))
  const error = results.find((result) => result.error)?.error
  const emails = [...new Set(results.flatMap(({ data }) => data ?? []))]
  return error ? { emails, issue: { path: 'email', message: toIssues(error)[0]?.message ?? '' } } : { emails }
}

/** Whether the text is nothing but addresses, each alone or in angle brackets after a name. */
export const isAddressCell = (text: string): boolean =>
  readAddresses(text).emails.length > 0 &&
  splitList(text).every((part) => /^[^<>]*<[^<>]*>\s*$/.test(part) || toWords(part).every(isEmptyOrAddress))
const isEmptyOrAddress = (word: string) => word === '' || word.includes('@')
