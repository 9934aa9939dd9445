import type { BounceClass } from '../bounces/bounce.schema.ts'

const messageFaults = new Set(['MessageTooLarge', 'ContentRejected', 'AttachmentRejected'])

/**
 * The class of a bounce without a status code, by `bounceType` and `bounceSubType` of Amazon SES, whose words Resend
 * uses too. An address on a suppression list of the provider was not tried, so it is SOFT.
 */
export function classOfSesWords(bounceType: string | null, bounceSubType: string | null): BounceClass {
  if (messageFaults.has(bounceSubType ?? '')) return 'MESSAGE'
  const isAboutAddress = bounceSubType === 'NoEmail' || bounceSubType === 'General'
  return bounceType === 'Permanent' && isAboutAddress ? 'HARD' : 'SOFT'
}
