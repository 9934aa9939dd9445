/** A bounce or a complaint that a provider reports, and what all providers have in common. */
import { z } from 'zod'
import type { BounceClass } from '../bounces/bounce.schema.ts'
import { type Bounce, classifyBounce } from '../bounces/classify-bounce.ts'
import { cleanText } from '../bounces/clean-text.ts'
import { findToken } from '../bounces/recipient-token.ts'

export interface ProviderReport {
  type: 'BOUNCE' | 'COMPLAINT'
  email: string | null
  /** See `recipient-token.ts`. An invalid one makes the report void. */
  recipientToken: string | null
  messageId: string | null
  /** The id that the provider gave the email in its SMTP response. */
  providerMessageId: string | null
  /** Null for a complaint. */
  class: BounceClass | null
  /** Null for a complaint, or if unknown. */
  code: string | null
  /** The explanation of the server or the provider. `recordReport` cleans it. */
  detail: string
}

type Facts = Pick<ProviderReport, 'type' | 'class' | 'code' | 'detail'>

/** A text of a provider, or null for anything else: a value of another type must not hide the other properties. */
export const Text = z
  .string()
  .nullish()
  .catch(null)
  .transform((text) => (text && cleanText(text)) || null)

/**
 * Describes a bounce. A status code decides the class, but an address is HARD only if the provider gave up on it too
 * (`isPermanent`). Without an exact code, the words of the provider decide: `otherwise`.
 */
export function describeBounce(bounce: {
  status?: string | null
  response?: string | null
  /** The explanation of the provider, shown if there is no response. */
  detail?: string | null
  otherwise: BounceClass
  isPermanent?: boolean
}): Facts {
  const { status = null, response = null, detail, otherwise, isPermanent = true } = bounce
  const classified = classifyBounce({ enhancedCode: status, text: response?.replace(/^smtp;\s*/i, '') ?? null })
  const found = isExact(classified) ? classified.class : otherwise
  return {
    type: 'BOUNCE',
    class: found === 'HARD' && !isPermanent ? 'SOFT' : found,
    code: classified.code,
    detail: response ?? detail ?? '',
  }
}

/** A reply code such as 550, and 5.0.0 (RFC 3463: no details), do not say what is wrong. */
const isExact = ({ code }: Bounce) => code !== null && code.includes('.') && !code.endsWith('.0.0')

export const describeComplaint = (feedbackType = 'abuse'): Facts => ({
  type: 'COMPLAINT',
  class: null,
  code: null,
  detail: feedbackType,
})

/** The token of the recipient in the envelope sender that a provider reports. */
export function findTokenOf(envelopeSender: string | null | undefined): string | null {
  const [localPart = ''] = envelopeSender?.replace(/^</, '').split('@') ?? []
  return findToken(localPart) ?? null
}
