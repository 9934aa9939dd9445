import { expect, test } from 'vitest'
import { seedsOf, useSimulation } from './use-place.ts'

const run = useSimulation()

test.each(seedsOf('deals'))('deals: an erasure keeps what is won or lost before it (seed %d)', async (seed) => {
  const { broken } = await run(seed, { scenario: 'deals' })
  expect(broken).toEqual([])
})
