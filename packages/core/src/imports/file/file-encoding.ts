/** Files are stored in UTF-8: what follows reads nothing else. */
import { isUtf8 } from 'node:buffer'
import { AppError } from '../../kernel/errors.ts'

export const encodings = ['utf-8', 'windows-1252'] as const
export type Encoding = (typeof encodings)[number]

/** Returns the encoding of a label such as `latin1` (WHATWG Encoding). Undefined if an import cannot read it. */
export function findEncoding(label: string): Encoding | undefined {
  // A subset of both: UTF-8 reports any other character instead of guessing it.
  if (/^(us-)?ascii$/i.test(label.trim())) return 'utf-8'
  try {
    const { encoding } = new TextDecoder(label)
    return encodings.find((known) => known === encoding)
  } catch {
    return undefined
  }
}

/** Converts a file to UTF-8. A character of windows-1252 is one byte, so each piece can be converted by itself. */
export async function* decode(file: AsyncIterable<Buffer>, encoding: Encoding = 'utf-8'): AsyncGenerator<Buffer> {
  const decoder = new TextDecoder(encoding)
  for await (const piece of file) yield encoding === 'utf-8' ? piece : Buffer.from(decoder.decode(piece))
}

/** ZIP (also XLSX and ODS), and the container of XLS. */
const workbooks = [Buffer.from('PK\u0003\u0004'), Buffer.from('d0cf11e0a1b11ae1', 'hex')]
const byteOrderMarks = { utf8: Buffer.from('\ufeff'), utf16: [Buffer.from('fffe', 'hex'), Buffer.from('feff', 'hex')] }

/** Returns the position after a byte order mark. Throws `validation_error` if the file is no text, or in UTF-16. */
export function findTextStart(head: Buffer): number {
  const startsWith = (bytes: Buffer) => head.subarray(0, bytes.length).equals(bytes)
  if (workbooks.some(startsWith))
    throw new AppError(
      'validation_error',
      'The file is a workbook of Excel or another spreadsheet, or a ZIP file: save it as "CSV UTF-8"',
    )
  if (byteOrderMarks.utf16.some(startsWith))
    throw new AppError('validation_error', 'The file is encoded in UTF-16: save it as "CSV UTF-8"')
  return startsWith(byteOrderMarks.utf8) ? byteOrderMarks.utf8.length : 0
}

/** Throws `validation_error` at the first part that is not UTF-8; for the first part of a file, with the line. */
export async function* requireUtf8(parts: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let size = 0
  for await (const part of parts) {
    if (size === 0) findTextStart(part)
    checkPart(decoder, part, size)
    size += part.length
    yield part
  }
  checkPart(decoder, undefined, size)
}

function checkPart(decoder: TextDecoder, part: Buffer | undefined, position: number): void {
  try {
    decoder.decode(part, { stream: part !== undefined })
  } catch {
    const place = part && position === 0 ? `line ${findLine(part)}` : `after byte ${position}`
    throw new AppError(
      'validation_error',
      `The file is not valid UTF-8 (${place}): save it as "CSV UTF-8", or send encoding=windows-1252 if it has this encoding`,
    )
  }
}

const findLine = (part: Buffer) =>
  part
    .toString('latin1')
    .split(/\r\n|\r|\n/)
    .findIndex((line) => !isUtf8(Buffer.from(line, 'latin1'))) + 1
