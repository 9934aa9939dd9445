import { expect, test } from 'vitest'
import { mannWhitneyScore } from './mann-whitney.ts'

const upTo = (count: number, value: (index: number) => number) => Array.from({ length: count }, (_, i) => value(i))

test('equal distributions have a score of 0, also if all values are equal', () => {
  expect(mannWhitneyScore([1, 4, 6, 7], [2, 3, 5, 8])).toBe(0)
  expect(mannWhitneyScore([1, 1, 1], [1, 1])).toBe(0)
})

test('the score matches the textbook formula, with and without ties', () => {
  // U is 2, with a mean of 12.5 and a variance of 275 / 12.
  expect(mannWhitneyScore([1, 2, 3, 4, 7], [5, 6, 8, 9, 10])).toBeCloseTo(-10.5 / Math.sqrt(275 / 12), 10)
  // U is 10.5, with a mean of 8; a tie of three values and a tie of two reduce the 9 by 30 / 56.
  expect(mannWhitneyScore([2, 2, 4, 5], [1, 2, 3, 4])).toBeCloseTo(2.5 / Math.sqrt((16 / 12) * (9 - 30 / 56)), 10)
})

test('a small shift is detected in 200 values, in both directions', () => {
  const [one, other] = [upTo(200, (i) => i % 40), upTo(200, (i) => (i % 40) + 10)]
  expect(mannWhitneyScore(one, other)).toBeLessThan(-4.9)
  expect(mannWhitneyScore(other, one)).toBeGreaterThan(4.9)
})
