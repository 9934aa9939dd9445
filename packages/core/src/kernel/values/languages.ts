/** The languages of pages, mails and the errors of forms, and how one of them is chosen. */
import { canonicalLocale } from './locale.ts'

/** Every text exists in each of these languages: a missing one does not compile. */
export const textDirections = { en: 'ltr', de: 'ltr', fr: 'ltr', es: 'ltr', it: 'ltr', pt: 'ltr' } as const
export type Language = keyof typeof textDirections
export const languages = Object.keys(textDirections) as Language[]

/** The texts of one area in every language. */
export type Translations<Texts> = Readonly<Record<Language, Texts>>

/** The colon after a label. French sets a narrow space before it. */
export const colons: Translations<string> = { en: ':', de: ':', fr: '\u202f:', es: ':', it: ':', pt: ':' }

/** The language of the texts, and the locale that dates and numbers are formatted for, such as `de` and `de-AT`. */
export interface ChosenLanguage {
  language: Language
  locale: string
}

/** Where a mail or page can get its language from. */
export interface Locales {
  /** Of the person. */
  contact?: string | null
  /** Of the list or form. */
  content?: string | null
  workspace?: string | null
}

/**
 * Chooses the first locale whose language has texts: `de-AT` means German. Undefined if there is none. Any text may be
 * among the locales.
 */
export function findLanguage(locales: readonly (string | null | undefined)[]): ChosenLanguage | undefined {
  for (const text of locales) {
    const locale = canonicalLocale(text ?? '')
    const language = languages.find((language) => language === locale?.split('-')[0])
    if (locale && language) return { language, locale }
  }
  return undefined
}

export const english: ChosenLanguage = { language: 'en', locale: 'en' }

interface MailLocales extends Locales {
  /** Of the page or form on which the recipient asked for the mail. */
  request?: string | null
}

/** The language of a mail: the recipient's, then that of the request, the list and the workspace, then English. */
export function chooseMailLanguage({ contact, request, content, workspace }: MailLocales): ChosenLanguage {
  return findLanguage([contact, request, content, workspace]) ?? english
}

interface VisitorLanguages {
  /** The parameter `lang` of the page. */
  requested?: string | undefined
  /** The header `Accept-Language`. */
  accepted?: string | undefined
}

/**
 * The language of a page. What a visitor asks for comes first, then the language of the mail that led to the page. The
 * browser's languages decide before that of the workspace, which says nothing about the visitor. `isKnown` is false for
 * English without any reason.
 */
export function choosePageLanguage(
  { requested, accepted }: VisitorLanguages,
  { contact, content, workspace }: Locales = {},
): ChosenLanguage & { isKnown: boolean } {
  const found = findLanguage([requested, contact, content, ...parseAcceptLanguage(accepted), workspace])
  return { ...(found ?? english), isKnown: found !== undefined }
}

/** The languages of a browser take less. */
const maxHeaderLength = 500

/** Returns the language tags of `Accept-Language` (RFC 9110), the most preferred first. */
export function parseAcceptLanguage(header = ''): string[] {
  const ranges = header
    .slice(0, maxHeaderLength)
    .split(',')
    .map((range) => {
      const [tag = '', weight = '1'] = range.trim().split(/\s*;\s*q\s*=\s*/i)
      return { tag, weight: Number(weight) }
    })
  const accepted = ranges.filter(({ weight }) => weight > 0)
  return accepted.toSorted((a, b) => b.weight - a.weight).map(({ tag }) => tag)
}
