/** How the fields in the messages of all providers are read. */
import { z } from 'zod'
import { findAddresses } from '../../kernel/values/addresses.ts'
import { cleanText } from '../bounces/clean-text.ts'
import { findToken } from '../bounces/recipient-token.ts'

/** A text of a provider, or null for anything else: a value of another type must not hide the other properties. */
export const Text = z
  .string()
  .nullish()
  .catch(null)
  .transform((text) => (text && cleanText(text)) || null)

/** The address in `"Lovelace, Ada" <ada@example.com>`. Null if the text names none, or several. */
export function readAddress(text: string | null | undefined): string | null {
  const [found = null, ...others] = findAddresses(text ?? '')
  return others.length === 0 ? found : null
}

/** The token of the recipient in the envelope sender that a provider reports. */
export function findTokenOf(envelopeSender: string | null | undefined): string | null {
  const [localPart = ''] = envelopeSender?.replace(/^</, '').split('@') ?? []
  return findToken(localPart) ?? null
}
