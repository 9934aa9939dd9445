/**
 * Quoted-printable encoding (RFC 2045) for campaigns: text that many mails share is encoded once. A mail of 18 KB takes
 * 700 to 1,000 microseconds of processor time, and 2,200 to 2,600 with nodemailer's encoder, which halves the number of
 * mails per second (transport alone, 22 November 2026; see the `campaigns` benchmark). A test of the worker compares
 * the output of both.
 */

/** `fixed` pieces are the same in many mails. Their encoding is cached by the identity of the array. */
export interface Pieces {
  fixed: readonly string[]
  /** The variable pieces: one after each fixed piece except the last. */
  between: readonly string[]
}

export interface Parts<Text> {
  html?: Text
  text: Text
}

export const onePiece = (text: string): Pieces => ({ fixed: [text], between: [] })

export function joinPieces({ fixed, between }: Pieces): string {
  return fixed.map((piece, index) => piece + (between[index] ?? '')).join('')
}

/**
 * Encodes one part of a multipart mail, with its header fields. The result is ASCII in short lines that end in CRLF and
 * never begin with a dot. nodemailer composes the multipart.
 */
export function encodePart(type: 'plain' | 'html', pieces: Pieces): Buffer[] {
  return [heads[type], ...encodePieces(pieces)]
}

const createHead = (type: string) =>
  Buffer.from(`Content-Type: text/${type}; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n`)
const heads = { plain: createHead('plain'), html: createHead('html') }

/** The encoded `fixed` pieces. */
const encoded = new WeakMap<readonly string[], Buffer[]>()

function encodePieces({ fixed, between }: Pieces): Buffer[] {
  const last = fixed.length - 1
  // A part must not end in a soft line break. If its last piece is empty, it ends in a line break instead.
  const avoidEmptyEnd = (piece: string) => (piece === '' && last > 0 ? '\n' : piece)
  const pieces =
    encoded.get(fixed) ??
    fixed.map((piece, index) =>
      index < last ? toQuotedPrintable(piece, true) : toQuotedPrintable(avoidEmptyEnd(piece)),
    )
  encoded.set(fixed, pieces)
  return pieces.flatMap((piece, index) =>
    index < last ? [piece, toQuotedPrintable(between[index] ?? '', true)] : piece,
  )
}

const [tab, lineFeed, carriageReturn, space, dot, equals] = [9, 10, 13, 32, 46, 61]
const hexDigits = Buffer.from('0123456789ABCDEF')
/** The limit is 76 characters, including the `=` of a soft line break. */
const maxLineLength = 75

/**
 * Encodes text as quoted-printable: ASCII in short lines that end in CRLF. With `isContinued`, the result ends in a
 * soft line break, so that the next piece can be encoded separately. Spaces before a soft line break are not encoded.
 */
function toQuotedPrintable(text: string, isContinued = false): Buffer {
  const bytes = Buffer.from(text.replace(/\r\n?/g, '\n'))
  // The maximum: three bytes per byte, and a soft line break of three bytes per line.
  const out = Buffer.allocUnsafe(Math.ceil(bytes.length * 3.2) + 8)
  let [size, column] = [0, 0]
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0
    if (byte === lineFeed) {
      out[size++] = carriageReturn
      out[size++] = lineFeed
      column = 0
      continue
    }
    const isBlank = byte === space || byte === tab
    const isAtLineEnd = at + 1 === bytes.length ? !isContinued : bytes[at + 1] === lineFeed
    const isPlain = isBlank ? !isAtLineEnd : byte > space && byte < 127 && byte !== equals
    if (column + (isPlain ? 1 : 3) > maxLineLength) {
      out[size++] = equals
      out[size++] = carriageReturn
      out[size++] = lineFeed
      column = 0
    }
    // A dot at the beginning of a line is encoded: otherwise SMTP requires it to be doubled.
    if (isPlain && (column > 0 || byte !== dot)) {
      out[size++] = byte
      column += 1
      continue
    }
    out[size++] = equals
    out[size++] = hexDigits[byte >> 4] ?? 0
    out[size++] = hexDigits[byte & 15] ?? 0
    column += 3
  }
  if (isContinued) size += out.write('=\r\n', size, 'latin1')
  // A copy, because the result may be cached: a view would keep the whole buffer in memory.
  return Buffer.from(out.subarray(0, size))
}
