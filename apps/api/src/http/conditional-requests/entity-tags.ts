/** Entity tags (RFC 9110 §8.8.3): each names one version of a record. */
import { hash } from 'node:crypto'
import { invalidField } from '@rapport/core/kernel/errors.ts'
import { serializerCompiler } from 'fastify-type-provider-zod'
import type { z } from 'zod'

/** The strong tag of a serialized record or a file: a hash of its content. */
export function computeEntityTag(content: string | Buffer): string {
  return `"${hash('sha256', content, 'base64url').slice(0, 27)}"`
}

/** The tag of a record as responses with this schema show it. */
export function entityTagOf(schema: z.ZodType, record: unknown): string {
  return computeEntityTag(serializerCompiler({ schema, method: '', url: '' })(record))
}

const entityTag = /(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g

/** The tags in a header, or `*`. Returns undefined if the value is malformed. */
function parseEntityTags(header: string): '*' | string[] | undefined {
  if (header.trim() === '*') return '*'
  const tags = header.match(entityTag) ?? []
  // A list may have empty elements (RFC 9110 §5.6.1.2).
  const isList = header
    .replace(entityTag, '\0')
    .split(',')
    .every((element) => ['', '\0'].includes(element.trim()))
  return isList && tags.length > 0 ? tags : undefined
}

/** `"x-gzip"` (Apache, Caddy), `"x--gzip"` (Jetty) and `"x;br"`. Other proxies, such as nginx, make the tag weak. */
const changedTag = /^(W\/)?"(.*?)((?:--?|;)(?:br|deflate|gzip|zstd))?"$/

/**
 * Undoes what proxies that compress responses add to a tag. `additions` is empty if the tag may be as the API returned
 * it.
 */
export function undoCompression(tag: string): { original: string; additions: string[] } {
  const [, weak, value = '', suffix] = changedTag.exec(tag) ?? []
  return { original: `"${value}"`, additions: [weak, suffix].filter((addition) => addition !== undefined) }
}

/** The versions that the tags may name, where a tag that a proxy has changed counts too (weak comparison). */
export function toVersions(tags: readonly string[]): string[] {
  // A hash could end like a suffix of a proxy, so the whole tag counts too.
  return tags.flatMap((tag) => [tag.replace('W/', ''), undoCompression(tag).original])
}

/** Whether `If-None-Match` names this version. A malformed value matches nothing. */
export function isNotModified(ifNoneMatch: string | undefined, current: string): boolean {
  const tags = parseEntityTags(ifNoneMatch ?? '') ?? []
  return tags === '*' || toVersions(tags).includes(current)
}

/** The tags in `If-Match`, or `*`; undefined without the header. Throws if it is malformed. */
export function readIfMatch(header: string | undefined): '*' | string[] | undefined {
  if (header === undefined) return undefined
  const tags = parseEntityTags(header)
  if (!tags) throw invalidField('If-Match', 'If-Match: must be "*" or a list of ETags in double quotes')
  return tags
}
