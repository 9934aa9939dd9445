import { expect, test } from 'vitest'
import { createRecentCallers } from './recent-callers.ts'

test('a caller is alone until another one calls, and again after a while', () => {
  let time = 0
  const callers = createRecentCallers<string>(1_000, () => time)
  const call = (caller: string, at: number) => {
    time = at
    callers.add(caller)
  }
  expect(callers.isAlone('a')).toBe(true)
  call('a', 0)
  call('a', 100)
  expect(callers.isAlone('a')).toBe(true)
  expect(callers.isAlone('b')).toBe(false)
  call('b', 200)
  expect(callers.isAlone('a')).toBe(false)
  call('a', 1_200)
  expect(callers.isAlone('a')).toBe(false)
  call('a', 1_201)
  expect(callers.isAlone('a')).toBe(true)
  call('c', 1_202)
  call('b', 1_203)
  expect([callers.isAlone('a'), callers.isAlone('b'), callers.isAlone('c')]).toEqual([false, false, false])
})
