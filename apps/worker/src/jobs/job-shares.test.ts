import { newId } from '@rapport/core/kernel/ids.ts'
import { expect, test } from 'vitest'
import { createJobShares } from './job-shares.ts'

const [one, other, third] = [newId('wsp'), newId('wsp'), newId('wsp')]
type Shares = ReturnType<typeof createJobShares>

function beginAll(shares: Shares, workspaceId: typeof one): number {
  let count = 0
  while (shares.begin(workspaceId, 'id')) count += 1
  return count
}

test('one workspace runs five of ten jobs, two run eight, and a third one finds a job', () => {
  const shares = createJobShares(10)
  expect([beginAll(shares, one), beginAll(shares, other), shares.begin(third, 'id')]).toEqual([5, 3, true])
  shares.end(one)
  expect(shares.begin(other, 'id')).toBe(false)
  expect(shares.begin(third, 'id')).toBe(true)
})

test('beside five other mails, the emails of a workspace run in three of ten jobs', () => {
  const shares = createJobShares(10)
  for (let n = 0; n < 5; n++) shares.begin('single', 'id')
  expect(beginAll(shares, one)).toBe(3)
  expect(shares.begin('single', 'id')).toBe(true)
})

test('work that is left is taken once, by those that run or by the last one that ends', () => {
  const shares = createJobShares(2)
  shares.begin(one, 'first')
  for (const id of ['a', 'b', 'b', 'c']) expect(shares.begin(one, id)).toBe(false)
  expect([shares.takeLeft(one, 2), shares.takeLeft(other, 2)]).toEqual([['a', 'b'], []])
  expect([shares.end(one), shares.takeLeft(one, 2)]).toEqual([['c'], []])
})
