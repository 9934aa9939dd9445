/** Texts for places that give some characters a meaning, and their hashes. */
import { hash } from 'node:crypto'

/** For a pattern of LIKE, whose wildcards the text may contain. */
export const escapeLike = (text: string): string => text.replace(/[\\%_]/g, '\\$&')

/** For a regular expression. `RegExp.escape` needs Node 24. */
export const escapeRegExp = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

const startsAddress = String.raw`(?:(?<![[:alnum:]][._-]?)|(?<=\\[bfnrt]|\\u[0-9a-f]{4}|\\[0-7]{3}|[%=][0-9a-f]{2}))`

/**
 * A regular expression of PostgreSQL for an email address in lower case, but not as the end of a longer one:
 * `ann@example.com` is not in `joann@example.com` or `jo.ann@example.com`. In JSON, URLs, quoted-printable and the escape
 * format of `bytea`, an encoded character such as `\n` or `%20` may precede the address.
 */
export const addressPattern = (address: string): string => `${startsAddress}${escapeRegExp(address)}(?![[:alnum:]])`

/** SHA-256 as base64url: short, and safe in URLs and headers. */
export const hashText = (text: string | Buffer): string => hash('sha256', text, 'base64url')
