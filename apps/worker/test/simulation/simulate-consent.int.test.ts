import { expect, test } from 'vitest'
import { seedsOf, useSimulation } from './use-place.ts'

const run = useSimulation()

test.each(seedsOf('consent'))('consent: no seed mails a suppressed address (seed %d)', async (seed) => {
  const { broken } = await run(seed, { scenario: 'consent' })
  expect(broken).toEqual([])
})

test.each(seedsOf('import'))('import: no seed imports twice, or mails against an opt-out (seed %d)', async (seed) => {
  const { broken } = await run(seed, { scenario: 'import' })
  expect(broken).toEqual([])
})
