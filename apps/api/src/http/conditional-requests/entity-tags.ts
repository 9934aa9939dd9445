/** Entity tags (RFC 9110 §8.8.3): each names one version of a record. */
import { hash } from 'node:crypto'

/** The strong tag of a serialized record or a file: a hash of its content. */
export function computeEntityTag(content: string | Buffer): string {
  return `"${hash('sha256', content, 'base64url').slice(0, 27)}"`
}

const entityTag = /(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g

/** The tags in `If-Match` or `If-None-Match`, or `*`. Returns undefined if the value is malformed. */
export function parseEntityTags(header: string): '*' | string[] | undefined {
  if (header.trim() === '*') return '*'
  const tags = header.match(entityTag) ?? []
  // A list may have empty elements (RFC 9110 §5.6.1.2).
  const isList = header
    .replace(entityTag, '\0')
    .split(',')
    .every((element) => ['', '\0'].includes(element.trim()))
  return isList && tags.length > 0 ? tags : undefined
}

/** Whether `If-None-Match` names this version. A weak tag matches too; a malformed value matches nothing. */
export function isNotModified(ifNoneMatch: string | undefined, current: string): boolean {
  const tags = parseEntityTags(ifNoneMatch ?? '') ?? []
  return tags === '*' || tags.some((tag) => tag.replace('W/', '') === current)
}
