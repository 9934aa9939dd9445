import { expect, test } from 'vitest'
import { waitUntil } from './wait.ts'

test('a wait returns the first truthy answer', async () => {
  const answers = [undefined, 0, 'here']
  expect(await waitUntil(() => answers.shift(), { describe: 'it is here' })).toBe('here')
})

test('an error counts as not yet', async () => {
  let calls = 0
  const answerThirdTime = () => {
    calls += 1
    if (calls < 3) throw new Error('not yet')
    return calls
  }
  expect(await waitUntil(answerThirdTime, { describe: 'it works' })).toBe(3)
})

test('a wait in vain says what for, and what was last answered', async () => {
  const waiting = waitUntil(() => ({ sent: 3 }).sent > 4, { describe: 'five are sent', timeoutMs: 40 })
  await expect(waiting).rejects.toThrow('Waited 40 ms in vain until five are sent; last value: false')
})

test('a wait in vain says what was last thrown', async () => {
  const failing = () => Promise.reject(new Error('connection refused'))
  const waiting = waitUntil(failing, { describe: 'it answers', timeoutMs: 40 })
  await expect(waiting).rejects.toThrow(/it answers; last error: Error: connection refused/)
})

test('a condition that hangs does not hang the wait', async () => {
  const waiting = waitUntil(() => new Promise<boolean>(() => {}), { describe: 'it answers', timeoutMs: 40 })
  await expect(waiting).rejects.toThrow('Waited 40 ms in vain until it answers; never answered')
})
