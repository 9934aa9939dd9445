import { describe, expect, test } from 'vitest'
import { countUnreachable, getPauseMs } from './circuit-breaker.ts'

const noResponse = { responseStatus: null }
const response = { responseStatus: 500 }

describe('the number of rounds without a response', () => {
  test('increases by one per round, regardless of the number of attempts', () => {
    expect(countUnreachable(0, [noResponse])).toBe(1)
    expect(countUnreachable(4, [noResponse, noResponse, noResponse])).toBe(5)
  })

  test('is 0 after a round with a response, including an error response', () => {
    expect(countUnreachable(7, [noResponse, response, noResponse])).toBe(0)
    expect(countUnreachable(7, [{ responseStatus: 200 }])).toBe(0)
  })

  test('is unchanged after a round without attempts', () => {
    expect(countUnreachable(0, [])).toBe(0)
    expect(countUnreachable(7, [])).toBe(7)
  })
})

test('the pause starts at one second after three rounds and doubles up to a minute', () => {
  const pauses = Array.from({ length: 12 }, (_, count) => getPauseMs(count))
  expect(pauses).toEqual([0, 0, 0, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000])
  expect(getPauseMs(100_000)).toBe(60_000)
})
