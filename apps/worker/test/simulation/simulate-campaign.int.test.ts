import { expect, test } from 'vitest'
import { seedsOf, useSimulation } from './use-place.ts'

const run = useSimulation()

test.each(seedsOf('campaign'))(
  'campaign: no seed sends twice, loses or miscounts a recipient (seed %d)',
  async (seed) => {
    const { unexplained } = await run(seed, { scenario: 'campaign' })
    expect(unexplained).toEqual([])
  },
)

test.each(seedsOf('cancellation'))(
  'cancellation: no seed sends to a recipient, or skips one twice or never (seed %d)',
  async (seed) => {
    const { unexplained } = await run(seed, { scenario: 'cancellation' })
    expect(unexplained).toEqual([])
  },
)
