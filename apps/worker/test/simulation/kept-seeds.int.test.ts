import { countRuns } from '@rapport/testing/runs.ts'
import { expect, test } from 'vitest'
import { choicesOfList, choicesOfSeed } from './choices.ts'
import { keptSeeds } from './kept-seeds.ts'
import { useSimulation } from './use-place.ts'

const run = useSimulation()

test.each(keptSeeds)('$story (seed $seed)', async ({ seed, ...limits }) => {
  expect((await run(seed, limits)).broken).toEqual([])
})

const scenarios = ['mails', 'campaign', 'drain', 'cancellation', 'consent', 'import', 'bounces'].slice(
  0,
  countRuns({ gate: 1, full: 7 }),
)
const seeds = [8, 34, 13, 21, 55].slice(0, countRuns({ gate: 1, full: 5 }))

test.each(scenarios.flatMap((scenario) => seeds.map((seed) => ({ scenario, seed }))))(
  'the same seed gives the same trace: $scenario, seed $seed',
  async ({ scenario, seed }) => {
    const [first, second] = [await run(seed, { scenario }), await run(seed, { scenario })]
    expect(second.trace).toEqual(first.trace)
    expect(second.hash).toBe(first.hash)
  },
)

test('the choices of a run are those of its seed, and then the simplest', () => {
  const [first, second] = [choicesOfSeed(7), choicesOfSeed(7)]
  const taken = [first.next(), first.next()]
  expect([second.next(), second.next()]).toEqual(taken)
  const again = choicesOfList(first.taken)
  expect([again.next(), again.next(), again.next()]).toEqual([...taken, 0])
})
