/** What the answers of the mail server mean: for a recipient, and for the whole campaign when it refuses everything. */
import type { MailOutcome } from '../mail/mails.ts'
import type { ContactId } from '../kernel/ids.ts'

/** How one recipient's mail ended. */
export interface RecipientOutcome {
  contactId: ContactId
  status: 'SENT' | 'WAITING' | 'FAILED' | 'INTERRUPTED'
  error: string | null
  /** Of their attempts so many do not count, as they were no fault of theirs. */
  uncountedAttempts?: number
}

export interface GroupOutcome {
  outcomes: RecipientOutcome[]
  /** The server refused everything there was. `isFinal`: to try again would not help, so the campaign is to be paused. */
  refusal?: { reason: string; isFinal: boolean }
}

const maxAttempts = 3
/** Of fewer people it may be chance that all of them are refused for what they are. */
const manyPeople = 5

type Answer = MailOutcome & { recipient: { id: ContactId; attempts: number } }

/**
 * What the answers for a group of recipients mean. Ambiguous is never sent again; refused for now waits for another try,
 * three at most. But where the server refuses to serve at all (its login, the sender, the connection, its policy)
 * nobody is to blame: they wait, and the try does not count against them.
 */
export function outcomesFor(answers: readonly Answer[]): GroupOutcome {
  const reason = refusalOfAll(answers)
  if (reason === undefined) return { outcomes: answers.map(outcomeFor) }
  const isFinal = answers.some((answer) => isPermanent(answer) || answer.recipient.attempts >= maxAttempts)
  const outcomes = answers.map(({ recipient }) => ({
    contactId: recipient.id,
    status: 'WAITING' as const,
    error: reason,
    uncountedAttempts: isFinal ? recipient.attempts : 0,
  }))
  return { outcomes, refusal: { reason, isFinal } }
}

/** The server's words when all were refused, and for what concerns everyone. */
function refusalOfAll(answers: readonly Answer[]): string | undefined {
  const refusals = answers.filter((answer) => answer.kind === 'refused')
  if (refusals.length === 0 || refusals.length < answers.length) return undefined
  const concernsAll = refusals.every(
    ({ blames, error }) => blames === 'server' || (refusals.length >= manyPeople && isPolicy(error)),
  )
  return concernsAll ? refusals[0]?.error : undefined
}

/** Such as "554 5.7.1 Relay access denied" (RFC 3463, X.7.X). */
const isPolicy = (error: string) => /^\d{3}[ -][45]\.7\.\d+\b/.test(error)
const isPermanent = (answer: Answer) => answer.kind === 'refused' && !answer.temporary

function outcomeFor(answer: Answer): RecipientOutcome {
  const { id: contactId, attempts } = answer.recipient
  if (answer.kind === 'sent') return { contactId, status: 'SENT', error: null }
  if (answer.kind === 'ambiguous') return { contactId, status: 'INTERRUPTED', error: answer.error }
  const mayRepeat = answer.temporary && attempts < maxAttempts
  return { contactId, status: mayRepeat ? 'WAITING' : 'FAILED', error: answer.error }
}
