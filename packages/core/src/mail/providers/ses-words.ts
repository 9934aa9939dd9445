import type { BounceClass } from '../bounces/bounce.schema.ts'
import { isAutomaticReply } from '../bounces/report-words.ts'
import { describeBounce, describeUntried } from './provider-report.ts'

/** A bounce in the words of Amazon SES, which Resend uses too. */
interface SesBounce {
  bounceType: string | null
  bounceSubType: string | null
  status?: string | null
  response: string | null
  /** The explanation of the provider, shown if there is no response. */
  detail: string | null
}

const messageFaults = new Set(['MessageTooLarge', 'ContentRejected', 'AttachmentRejected'])
const untried = new Set(['OnAccountSuppressionList', 'OnTenantSuppressionList', 'Suppressed'])

/**
 * Describes a bounce. SES also reports automatic replies as `Transient` and `General`: they quote no server, or only the
 * reply, and are no bounces.
 */
export function describeSesBounce({ bounceType, bounceSubType, status = null, response, detail }: SesBounce) {
  if (untried.has(bounceSubType ?? '')) return describeUntried(response ?? detail)
  const isTransient = bounceType === 'Transient'
  const isReply = response === null || isAutomaticReply(response)
  if (isTransient && bounceSubType === 'General' && isReply && status === null) return undefined
  const isPermanent = bounceType === 'Permanent'
  return describeBounce({ status, response, detail, otherwise: classOf(isPermanent, bounceSubType), isPermanent })
}

/** The class of a bounce without an exact status code. */
function classOf(isPermanent: boolean, bounceSubType: string | null): BounceClass {
  if (messageFaults.has(bounceSubType ?? '')) return 'MESSAGE'
  const isAboutAddress = bounceSubType === 'NoEmail' || bounceSubType === 'General'
  return isPermanent && isAboutAddress ? 'HARD' : 'SOFT'
}
