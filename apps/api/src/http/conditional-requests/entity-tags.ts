/** Entity tags (RFC 9110 §8.8.3): each names one version of a record. */
import { hashText } from '@rapport/core/kernel/values/encode-text.ts'
import { invalidField } from '@rapport/core/kernel/errors.ts'
import { serializerCompiler } from 'fastify-type-provider-zod'
import type { z } from 'zod'

/** The strong tag of a serialized record or a file: a hash of its content. */
export function computeEntityTag(content: string | Buffer): string {
  return `"${hashText(content).slice(0, 27)}"`
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

/**
 * What proxies add when they compress: `"x-gzip"` (Apache, Caddy), `"x--gzip"` (Jetty), `"x;br"`, or nothing. Others, such as
 * nginx, make the tag weak. A hash may end in a hyphen, and even like a suffix.
 */
const suffixes = [/$/, /[-;](?:br|deflate|gzip|zstd)$/, /--(?:br|deflate|gzip|zstd)$/]

/** What a tag may have been, with what proxies have then added to it. */
export function undoCompression(tag: string): { original: string; additions: string[] }[] {
  const [, weak = '', value = ''] = /^(W\/)?"(.*)"$/.exec(tag) ?? []
  return suffixes.flatMap((pattern) => {
    const [suffix] = pattern.exec(value) ?? []
    if (suffix === undefined) return []
    const original = `"${value.slice(0, value.length - suffix.length)}"`
    return { original, additions: [weak, suffix].filter((addition) => addition !== '') }
  })
}

/** The versions that the tags may name, where a tag that a proxy has changed counts too (weak comparison). */
export function toVersions(tags: readonly string[]): string[] {
  return tags.flatMap((tag) => undoCompression(tag).map(({ original }) => original))
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
