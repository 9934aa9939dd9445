import { expect, test } from 'vitest'
import { createRateLimitStore, localWindowsKept } from './rate-limit-store.ts'

test('without Redis, keeps the counts of recent clients and drops the oldest', async () => {
  const store = new (createRateLimitStore({ redis: undefined, probeMs: 1_000 }))({})
  const hit = (client: string) =>
    new Promise<number | undefined>((resolve) => {
      store.incr(client, (_error, count) => resolve(count?.current), 60_000, 100)
    })
  for (const client of ['recent', 'regular', 'once']) expect(await hit(client)).toBe(1)
  for (let count = 0; count < 3 * localWindowsKept; count++) {
    if (count % (localWindowsKept / 2) === 0) await hit('regular')
    if (count === 2.5 * localWindowsKept) await hit('recent')
    await hit(`client ${count}`)
  }
  expect(await Promise.all(['recent', 'regular', 'once'].map(hit))).toEqual([2, 8, 1])
})
