import { expect, test } from 'vitest'
import { seedsOf, useSimulation } from './use-place.ts'

const run = useSimulation()

test.each(seedsOf('drain'))('drain: no seed delivers twice, loses one or leaves a claim (seed %d)', async (seed) => {
  const { broken } = await run(seed, { scenario: 'drain' })
  expect(broken).toEqual([])
})
