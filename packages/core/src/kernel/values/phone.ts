/** Phone numbers as people copy them from chats, PDF files and business cards. */
import { z } from 'zod'

const extension = String.raw`\s*(?:;ext=|,?\s*(?:ext(?:ension|n)?|x|durchwahl|dw|poste|anexo|ramal|int)[.:]?)\s*\d{1,10}`

/** Digits with common separators, and an extension (`;ext=` as in RFC 3966, `x12`, `ext. 12`, `Durchwahl 12`). */
const phone = new RegExp(`^(?=.*\\d)[\\d ()+./#*,;-]+(?:${extension})?$`, 'i')

/**
 * Removes invisible characters, replaces typographic dashes and spaces by those of a keyboard and digits of other scripts
 * by ASCII digits, and removes `tel:`.
 */
function cleanPhone(text: string): string {
  return text
    .normalize('NFKC')
    .replaceAll(/[\p{Cf}\u00ad\u3164]/gu, '')
    .replaceAll(/[\p{Pd}\u2212]/gu, '-')
    .replaceAll(/[^\S ]/gu, (space) => (/[\n\r]/.test(space) ? space : ' '))
    .replaceAll(/[\u0660-\u0669\u06f0-\u06f9]/g, (digit) => String(digit.charCodeAt(0) & 0xf))
    .trim()
    .replace(/^tel:\s*/i, '')
}

/** Empty, or digits with common separators, and an extension such as `ext. 12`. Stored in ASCII, see `cleanPhone`. */
export const Phone = z
  .string()
  .overwrite(cleanPhone)
  .max(40, 'must have at most 40 characters')
  .refine((value) => value === '' || phone.test(value), { error: 'must be a phone number' })
