/** A place in a file: the byte, and the line it is on, counted from 1. */
export interface FileLocation {
  position: number
  line: number
}

/** A stored file seen through a window that slides over it and holds no more of it than is looked at. */
export interface ByteWindow {
  /** Where `bytes` begins. */
  readonly location: FileLocation
  readonly bytes: Buffer
  /** `bytes` reaches to the end of the file. */
  readonly isAtEnd: boolean
  /** Looks further ahead, by one part of the file. */
  grow(): Promise<void>
  /** Slides on by so many of `bytes`. */
  advance(count: number): void
}

/** Opens a window at `start`. `readPart` hands out what the file has from a byte on, undefined at its end. */
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

/** Line breaks in `bytes` from `start` to before `end`: LF, CRLF, or CR alone as very old programs write it. */
export function countLineBreaks(bytes: Buffer, start: number, end: number): number {
  let count = 0
  for (let index = start; index < end; index++) {
    const byte = bytes[index]
    if (byte === lineFeed || (byte === carriageReturn && bytes[index + 1] !== lineFeed)) count += 1
  }
  return count
}

/** Where the line breaks that stand at `start` are over. */
export function endOfLineBreaks(bytes: Buffer, start: number): number {
  let end = start
  while (bytes[end] === lineFeed || bytes[end] === carriageReturn) end += 1
  return end
}

/** Slides over empty lines. */
export async function skipLineBreaks(window: ByteWindow): Promise<void> {
  for (;;) {
    const end = endOfLineBreaks(window.bytes, 0)
    if (end < window.bytes.length || window.isAtEnd) return window.advance(end)
    // The last one may be half of a pair.
    window.advance(Math.max(0, end - 1))
    await window.grow()
  }
}

/** Slides on to the end of the line, or of the file, however far that is. */
export async function skipLine(window: ByteWindow): Promise<void> {
  for (;;) {
    const ends = [lineFeed, carriageReturn].map((byte) => window.bytes.indexOf(byte)).filter((end) => end >= 0)
    if (ends.length > 0) return window.advance(Math.min(...ends))
    window.advance(window.bytes.length)
    if (window.isAtEnd) return
    await window.grow()
  }
}
