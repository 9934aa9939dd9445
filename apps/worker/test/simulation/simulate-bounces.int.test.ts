import { expect, test } from 'vitest'
import { seedsOf, useSimulation } from './use-place.ts'

const run = useSimulation()

test.each(seedsOf('bounces'))(
  'bounces: each counts once, and suppresses its own address alone (seed %d)',
  async (seed) => {
    const { broken } = await run(seed, { scenario: 'bounces' })
    expect(broken).toEqual([])
  },
)
