import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest'

const { sleep } = vi.hoisted(() => ({ sleep: vi.fn<(ms: number) => Promise<void>>(async () => {}) }))
// Test files share a module cache: load fresh modules that use the mock, and remove them afterwards.
vi.mock('node:timers/promises', () => ({ setTimeout: sleep }))
vi.resetModules()
const { roundUpDuration } = await import('./constant-time.ts')
afterAll(() => void vi.resetModules())

let now = 0
beforeEach(() => {
  now = 1_000.25
  vi.spyOn(performance, 'now').mockImplementation(() => now)
  sleep.mockClear()
})
afterEach(() => void vi.restoreAllMocks())

const workFor = (ms: number) => async () => {
  now += ms
  return 'done'
}
const slept = () => sleep.mock.calls.map(([ms]) => ms)

test.each([
  [1, 49],
  [12.5, 37.5],
  [49.75, 0.25],
  [50, 0],
  [51, 49],
  [120, 30],
])('after %d ms of work, waits %d ms until the end of the step', async (spentMs, restMs) => {
  expect(await roundUpDuration({ constantTimeStepMs: 50 }, workFor(spentMs))).toBe('done')
  expect(slept()).toEqual([restMs])
})

test('failed work takes the same time and rejects with its own error', async () => {
  const failing = async () => {
    await workFor(7)()
    throw new Error('so')
  }
  await expect(roundUpDuration({ constantTimeStepMs: 50 }, failing)).rejects.toThrow('so')
  expect(slept()).toEqual([43])
})
