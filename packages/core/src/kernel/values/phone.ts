/** Phone numbers as people copy them from chats, PDF files and business cards. */
import { z } from 'zod'
import { trimInvisible } from './text.ts'

const extension = String.raw`\s*(?:;ext=|,?\s*\(?(?:ext(?:ension|n)?|x|durchwahl|dw|poste|anexo|ramal|int)[.:]?)\s*\d{1,10}`

/** Digits with common separators, and an extension (`;ext=` as in RFC 3966, `x12`, `(ext. 12)`, `Durchwahl 12`). */
const phone = new RegExp(`^(?=.*\\d)[\\d ()+./#*,;·-]+(?:${extension}\\)?)?$`, 'i')

/**
 * Removes invisible characters and `tel:`, replaces typographic dashes and spaces by those of a keyboard, and full-width
 * forms and digits of other scripts by ASCII.
 */
function cleanPhone(text: string): string {
  return text
    .replaceAll(/[\p{Cf}\u3164]/gu, '')
    .replaceAll(/[\p{Pd}\u2212]/gu, '-')
    .replaceAll(/[\p{Zs}\t]+/gu, ' ')
    .replaceAll(/[\uff01-\uff5e]/g, (character) => String.fromCharCode(character.charCodeAt(0) - 0xfee0))
    .replaceAll(/\p{Nd}/gu, toAsciiDigit)
    .trim()
    .replace(/^tel:\s*/i, '')
}

/** The digits of a script follow each other, from its zero. */
function toAsciiDigit(digit: string): string {
  const code = digit.codePointAt(0) ?? 0
  let zero = code
  while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1)) && code - zero < 9) zero -= 1
  return String(code - zero)
}

const maxLength = 40
const tooLong = { error: `must have at most ${maxLength} characters`, abort: true }

/** Empty, or digits with common separators, and an extension such as `ext. 12`. Stored in ASCII, see `cleanPhone`. */
export const Phone = z
  .string()
  .overwrite(trimInvisible)
  .max(4 * maxLength, tooLong)
  .overwrite(cleanPhone)
  .max(maxLength, tooLong)
  .refine((value) => value === '' || phone.test(value), { error: 'must be a phone number' })
