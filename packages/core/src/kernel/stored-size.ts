/** Limits what one record stores, so that a page of 100 records fits into memory. */
import { invalidField } from './errors.ts'

/** The limit of every free text of a record, such as the notes of a task. */
export const maxNoteBytes = 16_384

/** Whether a value has more bytes than the limit. */
export function exceedsSize(value: unknown, maxBytes: number): boolean {
  return sizeOf(value) > maxBytes
}

/** Throws `validation_error` if a value of a record is too large. */
export function requireSize(path: string, value: unknown, maxBytes: number): void {
  if (exceedsSize(value, maxBytes)) throw invalidField(path, `${path}: must have at most ${maxBytes / 1024} KiB`)
}

/** The bytes of a text, or of a value as JSON, in UTF-8. */
function sizeOf(value: unknown): number {
  return Buffer.byteLength(typeof value === 'string' ? value : JSON.stringify(value))
}
