import { expect, test } from 'vitest'
import { describeOffset, isOff, measureOffset } from './clock-offset.ts'

/** A clock that returns these readings in turn. */
function createFakeClock(...readings: number[]): () => number {
  return () => readings.shift() ?? Number.NaN
}

test.each([
  { process: [10_000, 10_000], other: 10_000, offsetMs: 0, errorMs: 0 },
  { process: [17_200, 17_200], other: 10_000, offsetMs: 7_200, errorMs: 0 },
  { process: [2_800, 2_800], other: 10_000, offsetMs: -7_200, errorMs: 0 },
  { process: [10_000, 10_400], other: 10_200, offsetMs: 0, errorMs: 200 },
  { process: [10_000, 10_400], other: 10_000, offsetMs: 200, errorMs: 200 },
  { process: [10_000, 10_400], other: 10_400, offsetMs: -200, errorMs: 200 },
  { process: [10_000, 10_001], other: 10_000.25, offsetMs: 0, errorMs: 1 },
])('measures at the midpoint of a call from $process.0 to $process.1', async (example) => {
  const { process, other, offsetMs, errorMs } = example
  const measured = await measureOffset(async () => other, createFakeClock(...process))
  expect([measured.offsetMs + 0, measured.errorMs]).toEqual([offsetMs, errorMs])
})

test.each([
  [5_000, 0, false],
  [5_001, 0, true],
  [-5_000, 0, false],
  [-5_001, 0, true],
  [6_000, 1_000, false],
  [-6_001, 1_000, true],
])('an offset of %i ms with an error of %i ms is off: %s', (offsetMs, errorMs, expected) => {
  expect(isOff({ offsetMs, errorMs })).toBe(expected)
})

test('the description names the direction of the offset', () => {
  const wrong = 'ids and timestamps will be wrong'
  expect(describeOffset(7_204)).toBe(`The clock of this process is 7.2 s ahead of the database's; ${wrong}`)
  expect(describeOffset(-61_000)).toBe(`The clock of this process is 61.0 s behind the database's; ${wrong}`)
})
