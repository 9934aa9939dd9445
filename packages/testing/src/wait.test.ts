import { expect, test } from 'vitest'
import { waitUntil } from './wait.ts'

test('returns the first truthy value', async () => {
  const values = [undefined, 0, 'here']
  expect(await waitUntil(() => values.shift(), { describe: 'it is here' })).toBe('here')
})

test('tries again after an error', async () => {
  let calls = 0
  const succeedThirdTime = () => {
    calls += 1
    if (calls < 3) throw new Error('not yet')
    return calls
  }
  expect(await waitUntil(succeedThirdTime, { describe: 'it works' })).toBe(3)
})

test('a timeout error names the condition and its last value', async () => {
  const waiting = waitUntil(() => ({ sent: 3 }).sent > 4, { describe: 'five are sent', timeoutMs: 40 })
  await expect(waiting).rejects.toThrow('Timed out after 40 ms waiting until five are sent; last value: false')
})

test('a timeout error names the last error', async () => {
  const failing = () => Promise.reject(new Error('connection refused'))
  const waiting = waitUntil(failing, { describe: 'it responds', timeoutMs: 40 })
  await expect(waiting).rejects.toThrow(/it responds; last error: Error: connection refused/)
})

test('times out while a condition hangs', async () => {
  const waiting = waitUntil(() => new Promise<boolean>(() => {}), { describe: 'it responds', timeoutMs: 40 })
  await expect(waiting).rejects.toThrow('Timed out after 40 ms waiting until it responds; no value yet')
})
