/** Texts as people see them. Programs add invisible characters when people copy text: texts that look equal then differ. */

/**
 * Whitespace, soft hyphens, zero-width spaces, marks and isolates of the writing direction, and fillers (Unicode 17,
 * "Default_Ignorable_Code_Point" without the joiners and variation selectors, which change how a letter or an emoji at
 * the end looks).
 */
const invisible =
  /[\s\u0085\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufeff\uffa0]/

/** Drops whitespace and invisible characters at both ends. Inside a text they may have a meaning. */
export function trimInvisible(text: string): string {
  let [start, end] = [0, text.length]
  while (start < end && invisible.test(text.charAt(start))) start += 1
  while (end > start && invisible.test(text.charAt(end - 1))) end -= 1
  return text.slice(start, end)
}

/** U+FF9E and U+FF9F become marks in NFKC and NFKD. */
const tooManyMarks = /(?<![\p{M}\uff9e\uff9f])[\p{M}\uff9e\uff9f]{31}/u

/**
 * Returns the text in a Unicode normal form, in linear time. To sort the combining marks of one letter takes quadratic time: a
 * text with more than 30 of them stays as it is (the limit of the Stream-Safe Text Format, UAX #15).
 */
export function toNormalForm(text: string, form: 'NFC' | 'NFD' | 'NFKC' | 'NFKD' = 'NFC'): string {
  return tooManyMarks.test(text) ? text : text.normalize(form)
}

/** Returns at most the first `maxLength` code units, without half of a character at the end. */
export function startOfText(text: string, maxLength: number): string {
  return text.slice(0, maxLength).replace(/[\ud800-\udbff]$/, '')
}

/** Makes the invisible characters of a text visible, and halves of characters: `\u200b`. Spaces stay as they are. */
export function showInvisible(text: string): string {
  return text.replaceAll(/[\p{Cf}\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u00a0\u2800\u3164]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0
    return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`
  })
}
