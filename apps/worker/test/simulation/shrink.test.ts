import { expect, test } from 'vitest'
import type { Choices } from './choices.ts'
import { breaksTheSame, shrink } from './shrink.ts'
import type { Run } from './simulate.ts'

const toRun = (part: Partial<Run>): Run => ({
  scenario: 'mails',
  trace: [],
  hash: '',
  broken: [],
  choices: [],
  ...part,
})
const breaking = (...texts: string[]) => toRun({ broken: texts })

/** Breaks one promise if the third choice is high, and otherwise another one. */
async function run(choices: Choices): Promise<Run> {
  const high = Array.from({ length: 8 }, () => choices.next()).map((value) => value > 0.5)
  const trace = high.filter(Boolean).map(() => ({ who: '', what: '', outcome: '', result: '' }))
  return { ...breaking(high[2] ? 'a@example.com got 2 mails' : 'a claim is left: mail'), trace, choices: choices.taken }
}

test('a schedule is shortened only while it breaks the same promise', async () => {
  const list = [0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9]
  const taken: number[] = []
  const next = () => (taken.push(list[taken.length] ?? 0), taken.at(-1) ?? 0)
  const shortened = await shrink(run, await run({ next, taken }))
  expect(shortened.choices).toEqual([0, 0, 0.9, 0, 0, 0, 0, 0])
  expect(shortened.broken).toEqual(['a@example.com got 2 mails'])
})

test('a promise about another person or another count is the same promise', () => {
  const failed = breaking('person-1@example.com got 2 mails')
  expect(breaksTheSame(failed, breaking('person-4@example.com got 3 mails'))).toBe(true)
  expect(breaksTheSame(failed, breaking('person-1@example.com is PENDING'))).toBe(false)
})
