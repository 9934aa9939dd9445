import { newId } from '@rapport/core/kernel/ids.ts'
import { expect, test } from 'vitest'
import { createJobShares } from './job-shares.ts'

const [one, other, third] = [newId('wsp'), newId('wsp'), newId('wsp')]

test('one workspace runs five of ten jobs, two run eight, and a third one finds a job', () => {
  const shares = createJobShares(10)
  const beginAll = (workspaceId: typeof one) => {
    let count = 0
    while (shares.begin(workspaceId)) count += 1
    return count
  }
  expect([beginAll(one), beginAll(other), shares.begin(third)]).toEqual([5, 3, true])
  shares.end(one)
  expect(shares.begin(other)).toBe(false)
  expect(shares.begin(third)).toBe(true)
})

test('work that is left is told once, to a job that runs, not to one that begins later', () => {
  const shares = createJobShares(2)
  expect(shares.leave(one)).toBe(false)
  shares.begin(one)
  expect([shares.begin(one), shares.leave(one)]).toEqual([false, true])
  expect([shares.takeLeft(one), shares.takeLeft(one)]).toEqual([true, false])
  shares.leave(one)
  shares.end(one)
  shares.begin(one)
  expect(shares.takeLeft(one)).toBe(false)
})
