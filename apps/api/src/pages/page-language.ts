import {
  type ChosenLanguage,
  choosePageLanguage,
  type Locales,
  type Translations,
} from '@rapport/core/kernel/values/languages.ts'
import { canonicalLocale } from '@rapport/core/kernel/values/locale.ts'
import { LinkToken } from '@rapport/core/kernel/validation.ts'
import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { PublicQuery } from '../routes/shapes.ts'
import { de } from './texts/de.ts'
import { en, type PageTexts } from './texts/en.ts'
import { es } from './texts/es.ts'
import { fr } from './texts/fr.ts'
import { it } from './texts/it.ts'
import { keepHyphens } from './texts/keep-hyphens.ts'
import { pt } from './texts/pt.ts'

const written: Translations<PageTexts> = { en, de, fr, es, it, pt }
export const pageTexts = keepHyphens(written)

/** The query of a page, or of a request of a visitor. */
export const PageQuery = PublicQuery.extend({
  lang: z
    .string()
    .optional()
    .describe('The language of the visitor, as a language tag (BCP 47) such as `de`. Any other text is ignored.'),
})

/** The token of the link in an email. */
export const Token = LinkToken(800).describe('The token in the link.')
/** The query of the page of such a link. */
export const TokenQuery = PageQuery.extend({ token: Token })

/** The language of one page, with its texts. */
export interface PageLanguage extends ChosenLanguage {
  texts: PageTexts
  /** Whether there was a reason to choose it. */
  isKnown: boolean
  /** Returns a relative link to another page in the same language, if the visitor asked for the language. */
  link: (url: string) => string
}

/** Returns the locale of the visitor, for an email that the request causes. Undefined if the request says none. */
export function readVisitorLocale(request: FastifyRequest): string | undefined {
  const { locale, isKnown } = readPageLanguage(request)
  return isKnown ? locale : undefined
}

/** Returns the language of a page. `locales` are those of the records that the page is about. */
export function readPageLanguage({ query, headers }: FastifyRequest, locales?: Locales): PageLanguage {
  const lang = query instanceof Object && 'lang' in query ? query.lang : undefined
  const requested = typeof lang === 'string' ? lang : undefined
  const chosen = choosePageLanguage({ requested, accepted: headers['accept-language'] }, locales)
  const isRequested = requested !== undefined && chosen.locale === canonicalLocale(requested)
  return {
    ...chosen,
    texts: pageTexts[chosen.language],
    link: (url) => (isRequested ? `${url}${url.includes('?') ? '&' : '?'}lang=${chosen.locale}` : url),
  }
}
