import pg from 'pg'
import { setImmediate as nextTick } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import { retryWhileDatabaseDown } from './retry-while-database-down.ts'
import { claimOrRelease, runExclusively } from './worker-deps.ts'
import { defaultTimings } from './worker-timings.ts'

const deps = { timings: { ...defaultTimings, minRetryPauseMs: 1, maxRetryPauseMs: 1 } }

describe('runExclusively', () => {
  const create = () => ({ activeJobs: new Map<string, Promise<void>>() })

  test('runs a second job for the same record after the first one', async () => {
    const deps = create()
    const first = Promise.withResolvers<void>()
    const steps: string[] = []
    const one = runExclusively(deps, 'a', async () => {
      steps.push('first starts')
      await first.promise
      steps.push('first ends')
    })
    const two = runExclusively(deps, 'a', async () => void steps.push('second'))
    const other = runExclusively(deps, 'b', async () => void steps.push('other record'))
    await other
    await nextTick()
    expect(steps).toEqual(['first starts', 'other record'])
    first.resolve()
    await Promise.all([one, two])
    expect(steps).toEqual(['first starts', 'other record', 'first ends', 'second'])
    expect(deps.activeJobs.size).toBe(0)
  })

  test('runs any number of jobs for the same record one after the other', async () => {
    const deps = create()
    let [active, maxActive, done] = [0, 0, 0]
    const work = async () => {
      active += 1
      maxActive = Math.max(maxActive, active)
      await nextTick()
      active -= 1
      done += 1
    }
    await Promise.all(Array.from({ length: 100 }, () => runExclusively(deps, 'a', work)))
    expect([maxActive, done]).toEqual([1, 100])
  })

  test('runs the next job after a job that failed', async () => {
    const deps = create()
    const failing = runExclusively(deps, 'a', () => Promise.reject(new Error('failed')))
    const next = runExclusively(deps, 'a', async () => {})
    await expect(failing).rejects.toThrow('failed')
    await next
    expect(deps.activeJobs.size).toBe(0)
  })
})

const createUnavailableError = () => Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })

describe('retryWhileDatabaseDown', () => {
  test('retries while the database is unavailable', async () => {
    let calls = 0
    const record = async () => {
      calls += 1
      if (calls < 3) throw createUnavailableError()
      return 'recorded'
    }
    expect(await retryWhileDatabaseDown(deps, record)).toBe('recorded')
    expect(calls).toBe(3)
  })

  test('retries for hours', async () => {
    const hour = 3_600_000
    let calls = 0
    const now = vi.spyOn(Date, 'now').mockImplementation(() => calls * hour)
    const record = async () => {
      calls += 1
      if (calls < 4) throw createUnavailableError()
      return 'recorded'
    }
    expect(await retryWhileDatabaseDown(deps, record).finally(() => now.mockRestore())).toBe('recorded')
  })

  test.each([
    ['a programming error', new TypeError('x is undefined')],
    ['a constraint violation', Object.assign(new pg.DatabaseError('no', 0, 'error'), { code: '23505' })],
  ])('does not retry after %s', async (_name, error) => {
    let calls = 0
    const record = () => {
      calls += 1
      return Promise.reject(error)
    }
    await expect(retryWhileDatabaseDown(deps, record)).rejects.toBe(error)
    expect(calls).toBe(1)
  })
})

describe('claimOrRelease', () => {
  test('releases a claim whose response was lost, and throws so that the job is retried', async () => {
    const steps: string[] = []
    const release = async () => {
      steps.push('release')
      if (steps.length < 3) throw createUnavailableError()
    }
    const lost = createUnavailableError()
    await expect(claimOrRelease(deps, () => Promise.reject(lost), release)).rejects.toBe(lost)
    expect(steps).toEqual(['release', 'release', 'release'])
  })

  test('keeps a claim that succeeded', async () => {
    const release = () => Promise.reject(new Error('released'))
    expect(await claimOrRelease(deps, async () => 'claimed', release)).toBe('claimed')
    expect(await claimOrRelease(deps, async () => undefined, release)).toBeUndefined()
  })
})
