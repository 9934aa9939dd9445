/** A window that slides over a file and buffers only the bytes that are being read. */

/** A byte position in a file and its line number, which starts at 1. */
export interface FileLocation {
  position: number
  line: number
}

export interface ByteWindow {
  readonly location: FileLocation
  readonly bytes: Buffer
  /** Whether `bytes` reaches the end of the file. */
  readonly isAtEnd: boolean
  /** Appends the next part of the file to `bytes`. */
  grow(): Promise<void>
  /** Moves the start of the window forward by `count` bytes. */
  advance(count: number): void
}

/** Opens a window at `start`. `readPart` returns bytes of the file from a position on, or undefined at its end. */
export function openWindow(
  readPart: (position: number) => Promise<Buffer | undefined>,
  start: FileLocation,
): ByteWindow {
  return {
    location: start,
    bytes: Buffer.alloc(0),
    isAtEnd: false,
    async grow() {
      const part = await readPart(this.location.position + this.bytes.length)
      Object.assign(this, part ? { bytes: Buffer.concat([this.bytes, part]) } : { isAtEnd: true })
    },
    advance(count) {
      const { position, line } = this.location
      const location = { position: position + count, line: line + countLineBreaks(this.bytes, 0, count) }
      Object.assign(this, { location, bytes: this.bytes.subarray(count) })
    },
  }
}

export const openBuffer = (bytes: Buffer, start: FileLocation): ByteWindow =>
  openWindow(async (from) => (from < bytes.length ? bytes.subarray(from) : undefined), start)

const lineFeed = 10
const carriageReturn = 13

/** Counts the line breaks in `bytes` from `start` to before `end`: LF, CRLF, or CR alone (classic Mac OS). */
export function countLineBreaks(bytes: Buffer, start: number, end: number): number {
  let count = 0
  for (let index = start; index < end; index++) {
    const byte = bytes[index]
    if (byte === lineFeed || (byte === carriageReturn && bytes[index + 1] !== lineFeed)) count += 1
  }
  return count
}

export function endOfLineBreaks(bytes: Buffer, start: number): number {
  let end = start
  while (bytes[end] === lineFeed || bytes[end] === carriageReturn) end += 1
  return end
}

export async function skipLineBreaks(window: ByteWindow): Promise<void> {
  for (;;) {
    const end = endOfLineBreaks(window.bytes, 0)
    if (end < window.bytes.length || window.isAtEnd) return window.advance(end)
    // The last byte may be the first half of a CRLF.
    window.advance(Math.max(0, end - 1))
    await window.grow()
  }
}

/** Moves the window to the end of the line, or of the file. */
export async function skipLine(window: ByteWindow): Promise<void> {
  for (;;) {
    const end = window.bytes.findIndex((byte) => byte === lineFeed || byte === carriageReturn)
    window.advance(end < 0 ? window.bytes.length : end)
    if (end >= 0 || window.isAtEnd) return
    await window.grow()
  }
}
