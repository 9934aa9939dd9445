/** Maps the outcomes of SMTP attempts to recipient statuses, and detects a failure that affects the whole campaign. */
import type { Bounce } from '../mail/bounces/classify-bounce.ts'
import type { MailOutcome } from '../mail/mails.ts'
import type { ContactId } from '../kernel/ids.ts'

/**
 * The outcome of one attempt to send to a recipient. `attempts` includes this attempt. `withdrawn`: mail may no longer go
 * to the recipient, and none was sent.
 */
export type SmtpOutcome = (MailOutcome | { kind: 'withdrawn'; error: string }) & {
  recipient: { id: ContactId; attempts: number }
  /** The mail was not rendered, because the template has a fault for this recipient. */
  hasTemplateFault?: boolean
}

/** The status that a recipient gets after an attempt. */
export interface RecipientOutcome {
  contactId: ContactId
  status: 'SENT' | 'WAITING' | 'FAILED' | 'SKIPPED' | 'INTERRUPTED'
  error: string | null
  /** The server refused the recipient or the message. Only with FAILED. */
  bounce?: Bounce
  /** The id that the mail server gave the email. */
  providerMessageId?: string
  /** Subtracted from the recipient's attempts, if the recipient did not cause the failures. */
  attemptsToUndo?: number
}

export interface GroupOutcome {
  outcomes: RecipientOutcome[]
  /**
   * Set if the server refused every mail of the group for a reason that affects all mails. `isFinal`: a retry would
   * fail too, so the caller pauses the campaign.
   */
  refusal?: { reason: string; isFinal: boolean }
}

const maxAttempts = 3
/** In a smaller group, all mails may fail for unrelated reasons, so that the campaign is not paused. */
export const minGroupSizeToPause = 5

/**
 * Decides the status of every recipient of a group:
 * - Ambiguous outcome: INTERRUPTED. Only a user can retry the recipient.
 * - Permanent refusal: FAILED.
 * - Temporary refusal: WAITING, and FAILED after the third attempt.
 * - The server refused every mail of the group because of the login, the connection, the sender or the message: every
 *   recipient is WAITING. The refusal is final if it is permanent or if this was the third attempt. A final refusal
 *   resets the attempts to 0, so that each recipient has three attempts again when the campaign is resumed.
 */
export function decideOutcomes(group: readonly SmtpOutcome[]): GroupOutcome {
  const reason = findGroupRefusal(group)
  if (reason === undefined) return { outcomes: group.map(decideOutcome) }
  const isFinal = group.some((outcome) => isPermanent(outcome) || outcome.recipient.attempts >= maxAttempts)
  const outcomes = group.map(({ recipient }) => ({
    contactId: recipient.id,
    status: 'WAITING' as const,
    error: reason,
    attemptsToUndo: isFinal ? recipient.attempts : 0,
  }))
  return { outcomes, refusal: { reason, isFinal } }
}

/** Returns the first error if the server refused every mail of the group for a reason that affects all mails. */
function findGroupRefusal(group: readonly SmtpOutcome[]): string | undefined {
  const refusals = group.filter((outcome) => outcome.kind === 'refused')
  if (refusals.length === 0 || refusals.length < group.length) return undefined
  const isLargeEnough = refusals.length >= minGroupSizeToPause
  const areGroupWide = refusals.every(
    ({ affectsAll, bounce }) => affectsAll === true || (isLargeEnough && bounce && isFaultOfSender(bounce)),
  )
  return areGroupWide ? refusals[0]?.error : undefined
}

/** A policy may also be temporary, such as "451 4.7.1 Try again later". */
const isFaultOfSender = ({ class: kind, code }: Bounce) =>
  kind === 'MESSAGE' || kind === 'POLICY' || code?.startsWith('4.7.') === true
const isPermanent = (outcome: SmtpOutcome) => outcome.kind === 'refused' && !outcome.temporary

function decideOutcome(outcome: SmtpOutcome): RecipientOutcome {
  const { id: contactId, attempts } = outcome.recipient
  if (outcome.kind === 'sent') {
    const { providerMessageId: id } = outcome
    return { contactId, status: 'SENT', error: null, ...(id && { providerMessageId: id }) }
  }
  if (outcome.kind === 'withdrawn') return { contactId, status: 'SKIPPED', error: outcome.error }
  if (outcome.kind === 'ambiguous') return { contactId, status: 'INTERRUPTED', error: outcome.error }
  const shouldRetry = outcome.temporary && attempts < maxAttempts
  if (shouldRetry) return { contactId, status: 'WAITING', error: outcome.error }
  return { contactId, status: 'FAILED', error: outcome.error, ...(outcome.bounce && { bounce: outcome.bounce }) }
}
