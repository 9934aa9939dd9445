/** A bounce, a complaint or an opt-out that a provider reports. */
import type { BounceClass } from '../bounces/bounce.schema.ts'
import { classifyBounce } from '../bounces/classify-bounce.ts'

export interface ProviderReport {
  /** OPT_OUT: the person unsubscribed at the provider. */
  type: 'BOUNCE' | 'COMPLAINT' | 'OPT_OUT'
  email: string | null
  /** See `recipient-token.ts`. An invalid one makes the report void. */
  recipientToken: string | null
  messageId: string | null
  /** The id that the provider gave the email in its SMTP response. */
  providerMessageId: string | null
  /** The id or the time that the provider gave an opt-out, which tells a repetition from a later opt-out. */
  eventId?: string | null
  /** Null for all but a bounce. */
  class: BounceClass | null
  /** Null for all but a bounce, or if unknown. */
  code: string | null
  /** The explanation of the server or the provider. `recordReports` cleans it. */
  detail: string
}

type Facts = Pick<ProviderReport, 'type' | 'class' | 'code' | 'detail'>

/**
 * Describes a bounce. A status code and the words of the response decide the class, but an address is HARD only if the
 * provider gave up on it too (`isPermanent`). Without an exact code, the word of the provider counts: `otherwise`.
 */
export function describeBounce(bounce: {
  status?: string | null
  response?: string | null
  /** The explanation of the provider, shown if there is no response. */
  detail?: string | null
  otherwise?: BounceClass | undefined
  isPermanent?: boolean
}): Facts {
  const { status = null, response = null, detail, otherwise, isPermanent = true } = bounce
  const text = (response ?? detail)?.replace(/^smtp;\s*/i, '')
  const classified = classifyBounce({ enhancedCode: status, text, otherwise })
  return {
    type: 'BOUNCE',
    class: classified.class === 'HARD' && !isPermanent ? 'SOFT' : classified.class,
    code: classified.code,
    detail: response ?? detail ?? '',
  }
}

/** The provider did not try the address, because of a list of its own: whatever it says, it heard from no server now. */
export const describeUntried = (detail: string | null): Facts => ({
  type: 'BOUNCE',
  class: 'SOFT',
  code: null,
  detail: detail ?? '',
})

export const describeComplaint = (feedbackType = 'abuse'): Facts => ({
  type: 'COMPLAINT',
  class: null,
  code: null,
  detail: feedbackType,
})

export const describeOptOut = (eventId: string | null): Facts & Pick<ProviderReport, 'eventId'> => ({
  type: 'OPT_OUT',
  eventId,
  class: null,
  code: null,
  detail: '',
})
