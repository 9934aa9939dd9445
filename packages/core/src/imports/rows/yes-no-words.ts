/**
 * Words for yes and no in the six languages of Rapport's own texts (see `kernel/values/languages.ts`). Sources: `yesstr`
 * and `nostr` of the POSIX messages in the Unicode CLDR (common/main/<language>.xml), with their one-letter forms, and the
 * logical values that spreadsheets write in each language, which are the localized names of the functions TRUE and FALSE.
 */
import type { Language } from '../../kernel/values/languages.ts'

const words: Readonly<Record<Language, Readonly<Record<'yes' | 'no', readonly string[]>>>> = {
  en: { yes: ['yes', 'y', 'true', 't', 'on', '1'], no: ['no', 'n', 'false', 'f', 'off', '0'] },
  de: { yes: ['ja', 'j', 'wahr'], no: ['nein', 'falsch'] },
  fr: { yes: ['oui', 'o', 'vrai'], no: ['non', 'faux'] },
  es: { yes: ['sí', 's', 'verdadero'], no: ['falso'] },
  it: { yes: ['sì', 'vero'], no: [] },
  pt: { yes: ['sim', 'verdadeiro'], no: ['não'] },
}

/** How people tick a cell. */
const ticks = ['x', '\u2713', '\u2714', '\u2611', '\u2705', 'checked']

/** Words in the place of a value that is missing. */
const missing = ['', 'null', 'nil', 'none', '(none)', 'n/a', 'na', 'nan', '-', '\u2013', '\u2014', 'undefined']
/** The errors of spreadsheets in the languages of Rapport, a column that is too narrow, and an object that was printed. */
const broken =
  /^(?:#(?:n\/?[adv]|ref!?|bezug!|value!?|wert!|valor!|valore!|valeur!|name\?|nombre\?|nome\?|nom\s?\?|div\/0!|null!|nulo!|num!|zahl!|nombre!|error!|spill!|calc!|field!)|#{3,}|\[object object\])$/i

const withoutMarks = (text: string) => text.trim().toLowerCase().normalize('NFD').replaceAll(/\p{M}/gu, '')

const answers = new Map(
  Object.values(words).flatMap(({ yes, no }) => [
    ...yes.map((word) => [withoutMarks(word), true] as const),
    ...no.map((word) => [withoutMarks(word), false] as const),
  ]),
)
for (const tick of ticks) answers.set(tick, true)

/** Whether the text is a word for yes or for no; undefined if it is neither. */
export const readYesNo = (text: string): boolean | undefined => answers.get(withoutMarks(text))

/** Whether the text stands for no value. */
export const isMissing = (text: string) =>
  (text.trim().length <= maxMissingLength && missing.includes(withoutMarks(text))) || isBroken(text)
const maxMissingLength = Math.max(...missing.map((word) => word.length))

/** Whether a program wrote that it has no value, or could not show it: no person means this text. */
export const isBroken = (text: string) => /^\s*[#[]/.test(text) && broken.test(text.trim())

/** Whether a program could not show a value that is there: a column too narrow, or a formula that failed. */
export const isHidden = (text: string) => isBroken(text) && !/^\s*#n\/?[adv]\s*$/i.test(text)
