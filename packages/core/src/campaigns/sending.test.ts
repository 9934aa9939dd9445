import { expect, test } from 'vitest'
import type { MailOutcome } from '../mail/mails.ts'
import { type ClaimedRecipient, outcomeFor, type RecipientOutcome } from './sending.ts'

const temporary: MailOutcome = { kind: 'refused', temporary: true, error: '450 later' }

test.each<[MailOutcome, number, RecipientOutcome['status']]>([
  [{ kind: 'sent' }, 1, 'SENT'],
  [temporary, 1, 'WAITING'],
  [temporary, 2, 'WAITING'],
  [temporary, 3, 'FAILED'],
  [{ kind: 'refused', temporary: false, error: '550 no' }, 1, 'FAILED'],
  [{ kind: 'ambiguous', error: 'cut off' }, 1, 'INTERRUPTED'],
  [{ kind: 'ambiguous', error: 'cut off' }, 3, 'INTERRUPTED'],
])('%j at try %d makes a recipient %s', (outcome, attempts, status) => {
  const recipient = { id: 'con_x', attempts } as ClaimedRecipient
  const error = outcome.kind === 'sent' ? null : outcome.error
  expect(outcomeFor(recipient, outcome)).toEqual({ contactId: 'con_x', status, error })
})
