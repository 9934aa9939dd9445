import { expect, test } from 'vitest'
import { seeds, useSimulation } from './use-place.ts'

const run = useSimulation()

test.each(seeds)('campaign: no seed sends twice, loses or miscounts a recipient (seed %d)', async (seed) => {
  expect((await run(seed, { scenario: 'campaign' })).broken).toEqual([])
})
