import { expect, test } from 'vitest'
import type { BounceClass } from '../mail/bounces/bounce.schema.ts'
import type { MailOutcome } from '../mail/mails.ts'
import { decideOutcomes } from './outcomes.ts'
import type { ClaimedRecipient } from './sending.ts'

const recipient = (attempts: number) => ({ id: 'con_1', attempts }) as ClaimedRecipient
type Outcome = MailOutcome | { kind: 'withdrawn'; error: string }
const group = (outcomes: Outcome[], attempts = 1) =>
  decideOutcomes(outcomes.map((outcome) => ({ ...outcome, recipient: recipient(attempts) })))
const bounceOf = (kind: BounceClass, code: string) => ({ bounce: { class: kind, code } })
const sent: MailOutcome = { kind: 'sent' }
const busy: MailOutcome = { kind: 'refused', temporary: true, error: '450 busy' }
const unknown: MailOutcome = {
  kind: 'refused',
  temporary: false,
  error: '550 5.1.1 No such user',
  ...bounceOf('HARD', '5.1.1'),
}
const noRelay: MailOutcome = {
  kind: 'refused',
  temporary: false,
  error: '554 5.7.1 Relay access denied',
  ...bounceOf('POLICY', '5.7.1'),
}
const tooLarge: MailOutcome = {
  kind: 'refused',
  temporary: false,
  error: '552 5.3.4 Too large',
  ...bounceOf('MESSAGE', '5.3.4'),
}
const noLogin: MailOutcome = { kind: 'refused', temporary: false, error: '535 wrong password', affectsAll: true }
const unavailable: MailOutcome = { kind: 'refused', temporary: true, error: 'connect ECONNREFUSED', affectsAll: true }
const lost: MailOutcome = { kind: 'ambiguous', error: 'the connection closed' }

const outcome = (status: string, error: string | null = null) => ({ contactId: 'con_1', status, error })

test('an accepted mail is SENT and an ambiguous outcome INTERRUPTED, at any attempt', () => {
  for (const attempts of [1, 2, 3]) {
    const outcomes = [outcome('SENT'), outcome('INTERRUPTED', 'the connection closed')]
    expect(group([sent, lost], attempts)).toEqual({ outcomes })
  }
})

test('a mail that may no longer go is SKIPPED with the reason', () => {
  const withdrawn: Outcome = { kind: 'withdrawn', error: 'The contact was merged into another' }
  expect(group([withdrawn])).toEqual({ outcomes: [outcome('SKIPPED', 'The contact was merged into another')] })
})

test('a temporary refusal has three attempts; a permanent refusal is FAILED', () => {
  expect(group([busy, unknown], 1)).toEqual({
    outcomes: [
      outcome('WAITING', '450 busy'),
      { ...outcome('FAILED', '550 5.1.1 No such user'), ...bounceOf('HARD', '5.1.1') },
    ],
  })
  expect(group([busy], 2)).toEqual({ outcomes: [outcome('WAITING', '450 busy')] })
  expect(group([busy], 3)).toEqual({ outcomes: [outcome('FAILED', '450 busy')] })
})

test('a refused login is a final refusal and resets the attempts of the recipients', () => {
  expect(group([noLogin, noLogin])).toEqual({
    outcomes: [1, 2].map(() => ({ ...outcome('WAITING', '535 wrong password'), attemptsToUndo: 1 })),
    refusal: { reason: '535 wrong password', isFinal: true },
  })
})

test('an unavailable server is a final refusal after the third attempt', () => {
  for (const attempts of [1, 2]) {
    expect(group([unavailable, unavailable], attempts)).toMatchObject({
      outcomes: [{ status: 'WAITING', attemptsToUndo: 0 }, { status: 'WAITING' }],
      refusal: { isFinal: false },
    })
  }
  expect(group([unavailable, unavailable], 3)).toMatchObject({
    outcomes: [{ status: 'WAITING', attemptsToUndo: 3 }, { status: 'WAITING' }],
    refusal: { isFinal: true },
  })
})

test('a refusal is not group-wide if the server accepts any mail of the group', () => {
  expect(group([noLogin, sent])).toEqual({ outcomes: [outcome('FAILED', '535 wrong password'), outcome('SENT')] })
  expect(group([unavailable, lost])).toMatchObject({ outcomes: [{ status: 'WAITING' }, { status: 'INTERRUPTED' }] })
  expect(group([]).refusal).toBeUndefined()
})

test('only faults of the sender or message, in a large enough group, are group-wide', () => {
  expect(group(Array.from({ length: 5 }, () => noRelay)).refusal).toEqual({
    reason: '554 5.7.1 Relay access denied',
    isFinal: true,
  })
  expect(group([noRelay, tooLarge, noRelay, tooLarge, noRelay]).refusal).toMatchObject({ isFinal: true })
  expect(group(Array.from({ length: 4 }, () => noRelay)).refusal).toBeUndefined()
  expect(group(Array.from({ length: 20 }, () => unknown)).refusal).toBeUndefined()
})
