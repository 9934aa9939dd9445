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

/** Words in the place of a value that is missing. */
const missing = ['', 'null', 'nil', 'none', 'n/a', 'na', 'nan', '-', '\u2013', '\u2014', 'undefined']

const withoutMarks = (text: string) => text.trim().toLowerCase().normalize('NFD').replaceAll(/\p{M}/gu, '')

const answers = new Map(
  Object.values(words).flatMap(({ yes, no }) => [
    ...yes.map((word) => [withoutMarks(word), true] as const),
    ...no.map((word) => [withoutMarks(word), false] as const),
  ]),
)

/** Whether the text is a word for yes or for no; undefined if it is neither. */
export const readYesNo = (text: string): boolean | undefined => answers.get(withoutMarks(text))

/** Whether the text stands for no value. */
export const isMissing = (text: string) => missing.includes(withoutMarks(text))
