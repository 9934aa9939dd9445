import { isIP } from 'node:net'
import { getDomain } from 'tldts-icann'
import { z } from 'zod'
import { normalizeDomain } from '../kernel/validation.ts'

/** The names of the records start with further labels, and a name has at most 253 characters. */
const maxLength = 200

/** A domain that a person can control: not an IP address, and not a public suffix such as `co.uk`. */
export const DomainName = z
  .string()
  .max(500, 'must have at most 500 characters')
  .transform((text, check) => {
    const name = normalizeDomain(text)
    const problem = findProblem(text, name)
    if (name !== undefined && problem === undefined) return name
    check.addIssue({ code: 'custom', message: problem ?? notDomain })
    return z.NEVER
  })
  .meta({ examples: ['example.com'] })

const notDomain = 'must be a domain such as example.com'

function findProblem(text: string, name: string | undefined): string | undefined {
  if (isIP(text.trim().replace(/^\[|\]$/g, ''))) return 'must be a domain such as example.com, not an IP address'
  if (name === undefined) return notDomain
  if (name.length > maxLength) return `must have at most ${maxLength} characters`
  if (organizationalDomain(name) === undefined)
    return `must be a domain below "${name}", which is a public suffix: name the domain that you registered`
  return undefined
}

/** The domain that was registered, such as `example.co.uk` for `news.example.co.uk`. Undefined for a public suffix. */
export const organizationalDomain = (name: string): string | undefined => getDomain(name) ?? undefined

/** Relaxed alignment, the default of DMARC (RFC 7489 §3.1): both names have the same organizational domain. */
export const isAligned = (one: string, other: string): boolean =>
  (organizationalDomain(one) ?? one) === (organizationalDomain(other) ?? other)

/** The host of the envelope sender of a domain. */
export const returnPathHost = (name: string): string => `bounce.${name}`
