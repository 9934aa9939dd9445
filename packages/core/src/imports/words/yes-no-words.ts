/**
 * Words for yes, for no and for no value, in the languages of Rapport: `yesstr` and `nostr` of the POSIX messages in the
 * Unicode CLDR (common/main/<language>.xml), their one-letter forms, the localized TRUE and FALSE of spreadsheets, and ticks.
 */
import { keysByWord, toPlain, toWords } from './names.ts'

/** In the order en, de, fr, es, it, pt. A cross such as ✗ can mean both, so it means neither. */
const answers = keysByWord({
  yes: `yes y true t on 1 ja j wahr oui o vrai si s verdadero vero sim verdadeiro
    x [x] (x) \u2713 \u2714 \u2611 \u2705 \u{1f5f8} \u{1f5f9} checked`,
  no: 'no n false f off 0 nein falsch non faux falso nao \u2610 unchecked',
})

/** Words in the place of a value that is missing. */
const missing = ['', '[ ]', ...toWords('null nil none (none) n/a na nan - \u2013 \u2014 undefined')]
const maxMissingLength = Math.max(...missing.map((word) => word.length))
/** The errors of spreadsheets in the languages of Rapport, a column that is too narrow, and an object that was printed. */
const broken =
  /^(?:#(?:n\/?[adv]|ref!?|bezug!|value!?|wert!|valor!|valore!|valeur!|name\?|nombre\?|nome\?|nom\s?\?|div\/0!|null!|nulo!|num!|zahl!|nombre!|error!|spill!|calc!|field!)|#{3,}|\[object object\])$/i

export function readYesNo(text: string): boolean | undefined {
  const answer = answers.get(toPlain(text).trim())
  return answer && answer === 'yes'
}

/** Whether the text stands for no value. */
export const isMissing = (text: string) =>
  (text.trim().length <= maxMissingLength && missing.includes(toPlain(text).trim())) || isBroken(text)

/** Whether a program wrote that it has no value, or could not show it: no person means this text. */
export const isBroken = (text: string) => /^\s*[#[]/.test(text) && broken.test(text.trim())

/** Whether a program could not show a value that is there: a column too narrow, or a formula that failed. */
export const isHidden = (text: string) => isBroken(text) && !/^\s*#n\/?[adv]\s*$/i.test(text)
export const notShown = 'is not shown by the program that wrote the file; left out'
