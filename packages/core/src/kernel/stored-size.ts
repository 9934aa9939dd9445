/**
 * Limits what one record stores, so that a page of 100 records fits into memory. What was stored before a limit may be
 * larger: it stays readable, and a change may keep or shrink it.
 */
import { invalidField } from './errors.ts'

interface StoredSize {
  maxBytes: number
  /** The stored value that a change replaces. */
  current?: unknown
}

/** The limit of every free text of a record, such as the notes of a task. */
export const maxNoteBytes = 16_384

/** Whether a value has more bytes than the limit, and more than the stored one. */
export function exceedsSize(value: unknown, { maxBytes, current }: StoredSize): boolean {
  if (value === current) return false
  const size = sizeOf(value)
  return size > maxBytes && (current === undefined || size > sizeOf(current))
}

/** Throws `validation_error` if a value of a record is too large. */
export function requireSize(path: string, value: unknown, size: StoredSize): void {
  if (exceedsSize(value, size)) throw invalidField(path, `${path}: must have at most ${size.maxBytes / 1024} KiB`)
}

/** The bytes of a text, or of a value as JSON, in UTF-8. */
function sizeOf(value: unknown): number {
  return Buffer.byteLength(typeof value === 'string' ? value : JSON.stringify(value))
}
