import { expect, test } from 'vitest'
import { seedsOf, useSimulation } from './use-place.ts'

const run = useSimulation()

test.each(seedsOf('campaign'))(
  'campaign: no seed sends twice, loses or miscounts a recipient (seed %d)',
  async (seed) => {
    const { broken } = await run(seed, { scenario: 'campaign' })
    expect(broken).toEqual([])
  },
)

test.each(seedsOf('cancellation'))(
  'canceled: each recipient is skipped once, and gets no mail (seed %d)',
  async (seed) => {
    const { broken } = await run(seed, { scenario: 'cancellation' })
    expect(broken).toEqual([])
  },
)
