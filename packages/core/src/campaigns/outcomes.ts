/** Maps the outcomes of SMTP attempts to recipient statuses, and detects a failure that affects the whole campaign. */
import type { MailOutcome } from '../mail/mails.ts'
import type { ContactId } from '../kernel/ids.ts'

/** The outcome of one attempt to send to a recipient. `attempts` counts this attempt. */
export type SmtpOutcome = MailOutcome & { recipient: { id: ContactId; attempts: number } }

/** The status that a recipient gets after an attempt. */
export interface RecipientOutcome {
  contactId: ContactId
  status: 'SENT' | 'WAITING' | 'FAILED' | 'INTERRUPTED'
  error: string | null
  /** Subtracted from the recipient's attempts: the recipient did not cause their failure. */
  attemptsToUndo?: number
}

export interface GroupOutcome {
  outcomes: RecipientOutcome[]
  /**
   * Every mail of the group was refused for a reason that affects all mails. `isFinal`: a retry would not help, so
   * the campaign is to be paused.
   */
  refusal?: { reason: string; isFinal: boolean }
}

const maxAttempts = 3
/** In a smaller group, all mails may fail by coincidence, for reasons of their own. */
export const minConclusiveGroupSize = 5

/**
 * Decides the status of every recipient of a group. An ambiguous outcome is INTERRUPTED and never sent again. A temporary
 * refusal is WAITING until the third attempt, then FAILED.
 *
 * If the server refuses every mail for a reason that affects all of them (login, sender, connection, policy), the
 * recipients are WAITING, also after a permanent refusal. The attempt counts until the third; after the third, or a
 * permanent refusal, the refusal is final, and the attempts are undone so that a resumed campaign has three again.
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

/** The server's first error if it refused every mail of the group for a reason that affects all mails. */
function findGroupRefusal(group: readonly SmtpOutcome[]): string | undefined {
  const refusals = group.filter((outcome) => outcome.kind === 'refused')
  if (refusals.length === 0 || refusals.length < group.length) return undefined
  const isConclusive = refusals.length >= minConclusiveGroupSize
  const areGroupWide = refusals.every(
    ({ affectsAll, error }) => affectsAll === true || (isConclusive && isPolicy(error)),
  )
  return areGroupWide ? refusals[0]?.error : undefined
}

/** Such as "554 5.7.1 Relay access denied" (RFC 3463, X.7.X). */
const isPolicy = (error: string) => /^\d{3}[ -][45]\.7\.\d+\b/.test(error)
const isPermanent = (outcome: SmtpOutcome) => outcome.kind === 'refused' && !outcome.temporary

function decideOutcome(outcome: SmtpOutcome): RecipientOutcome {
  const { id: contactId, attempts } = outcome.recipient
  if (outcome.kind === 'sent') return { contactId, status: 'SENT', error: null }
  if (outcome.kind === 'ambiguous') return { contactId, status: 'INTERRUPTED', error: outcome.error }
  const shouldRetry = outcome.temporary && attempts < maxAttempts
  return { contactId, status: shouldRetry ? 'WAITING' : 'FAILED', error: outcome.error }
}
