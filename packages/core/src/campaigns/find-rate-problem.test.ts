import { expect, test } from 'vitest'
import { describeRateProblem, isSameProblem } from './find-rate-problem.ts'

const fine = { mails: 10_000, complained: 0, hardBounces: 0, refusedOfLast: 0, refusingDomains: 0 }

test.each([
  [{ complained: 11 }, 'More than 0.1% of the recipients reported the email as spam (11 of 10000)'],
  [{ mails: 20, complained: 10 }, /reported the email as spam/],
  [{ mails: 500, hardBounces: 25 }, 'At least 5% of the addresses do not exist (25 of 500)'],
  [{ refusedOfLast: 100, refusingDomains: 3 }, /^Servers of 3 domains refused 100 of the last 200 emails/],
])('a campaign pauses with %j', (counts, reason) => {
  expect(describeRateProblem({ ...fine, ...counts })).toMatch(reason)
})

test.each([
  { complained: 10 },
  { mails: 20, complained: 9 },
  { mails: 499, hardBounces: 499 },
  { hardBounces: 499 },
  { refusedOfLast: 200, refusingDomains: 2 },
  { refusedOfLast: 99, refusingDomains: 9 },
])('a campaign does not pause with %j', (counts) => {
  expect(describeRateProblem({ ...fine, ...counts })).toBeUndefined()
})

test('a problem is the one that paused the campaign if only its counts differ', () => {
  const bounces = describeRateProblem({ ...fine, mails: 500, hardBounces: 25 }) ?? ''
  const moreBounces = describeRateProblem({ ...fine, mails: 520, hardBounces: 100 })
  expect(isSameProblem(moreBounces, bounces)).toBe(true)
  expect(isSameProblem(describeRateProblem({ ...fine, complained: 11 }), bounces)).toBe(false)
  expect([isSameProblem(bounces, null), isSameProblem(undefined, bounces)]).toEqual([false, false])
})
