import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest'

const { sleep } = vi.hoisted(() => ({ sleep: vi.fn<(ms: number) => Promise<void>>(async () => {}) }))
// Test files share their modules: this one loads its own, which use the mock, and leaves none behind.
vi.mock('node:timers/promises', () => ({ setTimeout: sleep }))
vi.resetModules()
const { inConstantTime } = await import('./constant-time.ts')
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
])('work of %d ms ends on a full step, %d ms later', async (spentMs, restMs) => {
  expect(await inConstantTime(workFor(spentMs))).toBe('done')
  expect(slept()).toEqual([restMs])
})

test('work that fails takes as long, and fails as it did', async () => {
  const failing = async () => {
    await workFor(7)()
    throw new Error('so')
  }
  await expect(inConstantTime(failing)).rejects.toThrow('so')
  expect(slept()).toEqual([43])
})
