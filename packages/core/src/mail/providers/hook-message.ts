/** What the webhooks of mail providers have in common. Each file of this folder reads those of one provider. */
import { AppError } from '../../kernel/errors.ts'
import type { ProviderReport } from './provider-report.ts'

/** A request of a provider. `body` is what was received, byte for byte, because the signature covers it. */
export interface HookRequest {
  /** By name in lower case. */
  headers: Readonly<Record<string, string | undefined>>
  body: Buffer
}

export interface HookContext {
  secret: string
  now: Date
  /**
   * Reads a URL of Amazon SNS, without following redirects. Returns undefined if the server refuses it, and throws
   * `unavailable` if it cannot be reached.
   */
  readUrl: (url: string) => Promise<string | undefined>
}

export type HookMessage =
  | {
      reports: ProviderReport[]
      /** Set if the signature does not cover the reports: a message with the same value is a replay. */
      signedToken?: string
    }
  /** A large message: other requests are served between its parts. */
  | { parts: readonly (() => ProviderReport[])[] }

/** Verifies a message and returns its reports. Throws `unauthorized`, and `validation_error` if it is malformed. */
export type HookReader = (request: HookRequest, context: HookContext) => HookMessage | Promise<HookMessage>

/** The same error for an unknown URL, a missing signature, a wrong one and an old message. */
export const refusedMessage = () => new AppError('unauthorized', 'Missing or invalid signature')

/** Retries may repeat the first signature: Twilio SendGrid retries for 24 hours, Mailgun for 8, Amazon SNS for one. */
const maxMessageAgeMs = 25 * 3_600_000
const maxClockDifferenceMs = 5 * 60_000

/** Whether a message was signed within the last `maxAgeMs`. Its clock may be ahead by five minutes. */
export function isRecent(signedAtMs: number, now: Date, maxAgeMs = maxMessageAgeMs): boolean {
  const ageMs = now.getTime() - signedAtMs
  return ageMs <= maxAgeMs && ageMs >= -maxClockDifferenceMs
}

/** Parses seconds since 1970, as digits. Returns NaN for any other text, which `isRecent` rejects. */
export const parseSeconds = (text: string): number => (/^\d{1,12}$/.test(text) ? Number(text) * 1000 : Number.NaN)

/** Parses JSON. Returns undefined if the text is not JSON. */
export function parseJson(text: Buffer | string): unknown {
  try {
    return JSON.parse(text.toString()) as unknown
  } catch {
    return undefined
  }
}

/** Thrown for a message with a valid signature that is not of the provider's format. */
export const malformedMessage = (provider: string) =>
  new AppError('validation_error', `The message is not a webhook of ${provider}`)
