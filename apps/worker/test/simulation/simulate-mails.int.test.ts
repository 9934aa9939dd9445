import { expect, test } from 'vitest'
import { seedsOf, useSimulation } from './use-place.ts'

const run = useSimulation()

test.each(seedsOf('mails'))('mails: no seed sends one twice, loses one or leaves a claim (seed %d)', async (seed) => {
  const { broken } = await run(seed, { scenario: 'mails' })
  expect(broken).toEqual([])
})

test.each(seedsOf('emails'))('emails: none twice, none to an address that may not get it (seed %d)', async (seed) => {
  const { broken } = await run(seed, { scenario: 'emails' })
  expect(broken).toEqual([])
})
