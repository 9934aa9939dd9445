/** Languages with their regions, as language tags (BCP 47): `de`, `pt-BR`. */
import { z } from 'zod'

const maxLength = 35
const languageTag = /^[a-z]{2,3}(-[a-z0-9]{1,8})*$/i
const privateUse = /-x(-|$)/i

/**
 * Returns a language tag in its canonical form: `de_at` as `de-AT`, `iw` as `he`. Undefined for any other text, and for
 * a tag with a private part, which could hold anything.
 */
export function canonicalLocale(text: string): string | undefined {
  const tag = text.replaceAll('_', '-')
  if (tag.length > maxLength || !languageTag.test(tag) || privateUse.test(tag)) return undefined
  try {
    return Intl.getCanonicalLocales(tag)[0]
  } catch {
    return undefined
  }
}

/** Empty, or a language tag. Stored in its canonical form. */
export const Locale = z
  .string()
  .overwrite((text) => canonicalLocale(text.trim()) ?? text.trim())
  .refine((text) => text === '' || canonicalLocale(text) !== undefined, {
    error: 'must be a language tag (BCP 47) such as de or pt-BR',
  })
  .meta({ maxLength, examples: ['de-AT'] })

/** The locale of a record, or null for none. */
export const OptionalLocale = Locale.nullable().transform((locale) => locale || null)
