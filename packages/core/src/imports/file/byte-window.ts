/** A byte position in a file and its line number, which starts at 1. */
export interface FileLocation {
  position: number
  line: number
}

/** A window that slides over a stored file and buffers only the bytes that are being read. */
export interface ByteWindow {
  /** The location of the first byte of `bytes`. */
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
  let bytes: Buffer = Buffer.alloc(0)
  let isAtEnd = false
  let { position, line } = start
  return {
    get location() {
      return { position, line }
    },
    get bytes() {
      return bytes
    },
    get isAtEnd() {
      return isAtEnd
    },
    async grow() {
      const part = await readPart(position + bytes.length)
      if (part === undefined) isAtEnd = true
      else bytes = bytes.length > 0 ? Buffer.concat([bytes, part]) : part
    },
    advance(count) {
      line += countLineBreaks(bytes, 0, count)
      position += count
      bytes = bytes.subarray(count)
    },
  }
}

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

/** Returns the end of the line breaks at `start`. */
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
    const ends = [lineFeed, carriageReturn].map((byte) => window.bytes.indexOf(byte)).filter((end) => end >= 0)
    if (ends.length > 0) return window.advance(Math.min(...ends))
    window.advance(window.bytes.length)
    if (window.isAtEnd) return
    await window.grow()
  }
}
