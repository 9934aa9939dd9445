import { expect, test } from 'vitest'
import { decideTrackingLevel } from './tracking-level.ts'

test.each([
  ['GRANTED', 'OFF', 'PERSON'],
  ['GRANTED', 'ANONYMOUS', 'PERSON'],
  ['GRANTED', 'PERSON', 'PERSON'],
  ['UNKNOWN', 'OFF', 'OFF'],
  ['UNKNOWN', 'ANONYMOUS', 'ANONYMOUS'],
  ['UNKNOWN', 'PERSON', 'PERSON'],
  ['DENIED', 'OFF', 'OFF'],
  ['DENIED', 'ANONYMOUS', 'OFF'],
  ['DENIED', 'PERSON', 'OFF'],
] as const)(
  '%s in a workspace with %s is %s, and OFF if the campaign does not track',
  (choice, withoutConsent, level) => {
    expect(decideTrackingLevel({ isTracked: true, withoutConsent, choice })).toBe(level)
    expect(decideTrackingLevel({ isTracked: false, withoutConsent, choice })).toBe('OFF')
  },
)
