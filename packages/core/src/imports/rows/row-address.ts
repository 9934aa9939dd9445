/** The addresses in a cell, as address books and mail programs write them. */
import { Email } from '../../kernel/validation.ts'
import type { Issue } from '../../kernel/errors.ts'
import { findAddresses } from '../../kernel/values/addresses.ts'
import { toIssues } from '../../kernel/zod-messages.ts'

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

/** Reads every address in the text, and what is wrong with one of them. */
export function readAddresses(text: string): { emails: string[]; issue?: Issue } {
  if (text.length > maxText)
    return { emails: readAddresses(text.slice(0, maxText)).emails.slice(0, -1), issue: tooLong }
  // A name in quotation marks may have a comma, or another address.
  const parts = text.replaceAll(/"(?:[^"\\]|\\.)*"(?=\s*<)/g, ' ').split(/[;,\r\n]/)
  const found = [...new Set(parts.flatMap(findAddresses))]
  const results = (found.length > 0 ? found : [text]).map((address) => Email.safeParse(address))
  const error = results.find((result) => result.error)?.error
  const emails = [...new Set(results.flatMap(({ data }) => data ?? []))]
  return error ? { emails, issue: { path: 'email', message: toIssues(error)[0]?.message ?? '' } } : { emails }
}
