/** Texts for places that give some characters a meaning, and their hashes. */
import { hash } from 'node:crypto'

/** For a pattern of LIKE, whose wildcards the text may contain. */
export const escapeLike = (text: string): string => text.replace(/[\\%_]/g, '\\$&')

/** For a regular expression. `RegExp.escape` needs Node 24. */
export const escapeRegExp = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

/** SHA-256 as base64url: short, and safe in URLs and headers. */
export const hashText = (text: string | Buffer): string => hash('sha256', text, 'base64url')
