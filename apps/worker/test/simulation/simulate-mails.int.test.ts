import { expect, test } from 'vitest'
import { seeds, useSimulation } from './use-place.ts'

const run = useSimulation()

test.each(seeds)('mails: no seed sends one twice, loses one or leaves a claim (seed %d)', async (seed) => {
  expect((await run(seed, { scenario: 'mails' })).broken).toEqual([])
})
