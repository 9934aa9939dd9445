import { z } from 'zod'
import { normalizeEmail, SingleLine } from '../../kernel/validation.ts'

/**
 * An email address to look up, normalized like a stored one. Rejects what no contact can have: a program that gets an
 * empty page instead creates a duplicate.
 */
export const EmailFilter = SingleLine(254).transform((address, check) => {
  const email = normalizeEmail(address)
  if (email !== undefined) return email
  const isPlusLost = normalizeEmail(address.replaceAll(' ', '+')) !== undefined
  const hint = isPlusLost ? ': a space is not allowed; in a URL, send a plus sign as %2B' : ''
  check.addIssue({ code: 'custom', message: `must be an email address such as ada@example.com${hint}` })
  return z.NEVER
})
