import { expect, test } from 'vitest'
import { createRateLimitStore, localWindowsKept } from './rate-limit-store.ts'

test('without Redis the store keeps the counts of the latest clients and drops the oldest', () => {
  const store = new (createRateLimitStore(undefined))({})
  let last: number | undefined
  const hit = (client: string) => {
    store.incr(client, (_error, count) => (last = count?.current), 60_000, 100)
    return last
  }
  for (const client of ['recent', 'regular', 'once']) expect(hit(client)).toBe(1)
  for (let count = 0; count < 3 * localWindowsKept; count++) {
    if (count % (localWindowsKept / 2) === 0) hit('regular')
    if (count === 2.5 * localWindowsKept) hit('recent')
    hit(`client ${count}`)
  }
  expect(['recent', 'regular', 'once'].map(hit)).toEqual([2, 8, 1])
})
