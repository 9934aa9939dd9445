import { expect, test } from 'vitest'
import { choicesOfList, choicesOfSeed } from './choices.ts'
import { keptSeeds } from './kept-seeds.ts'
import { useSimulation } from './use-place.ts'

const run = useSimulation()

test.each(keptSeeds)('$story (seed $seed)', async ({ seed, broken, ...limits }) => {
  expect((await run(seed, limits)).broken).toEqual(broken)
})

test.each(['mails', 'campaign', 'drain'])('the same seed gives the same trace: %s', async (scenario) => {
  const [first, second] = [await run(8, { scenario }), await run(8, { scenario })]
  expect(second.trace).toEqual(first.trace)
  expect(second.hash).toBe(first.hash)
})

test('the choices of a run are those of its seed, and then the simplest', () => {
  const [first, second] = [choicesOfSeed(7), choicesOfSeed(7)]
  const taken = [first.next(), first.next()]
  expect([second.next(), second.next()]).toEqual(taken)
  const again = choicesOfList(first.taken)
  expect([again.next(), again.next(), again.next()]).toEqual([...taken, 0])
})
