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

/** Reads every address in the text, and what is wrong with one of them. */
export function readAddresses(text: string): { emails: string[]; issue?: Issue } {
  const found = findAddresses(text)
  const results = (found.length > 0 ? found : [text]).map((address) => Email.safeParse(address))
  const error = results.find((result) => result.error)?.error
  const emails = [...new Set(results.flatMap(({ data }) => data ?? []))]
  return error ? { emails, issue: { path: 'email', message: toIssues(error)[0]?.message ?? '' } } : { emails }
}
