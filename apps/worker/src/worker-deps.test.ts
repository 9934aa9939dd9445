import pg from 'pg'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import { retryWhileDatabaseDown } from './retry-while-database-down.ts'
import { claimOrRelease, runExclusively } from './worker-deps.ts'

describe('what is in hand', () => {
  const create = () => ({ activeJobs: new Map<string, Promise<void>>() })

  test('is in hand once: a second job of the same subject waits for the first, and then has its turn', async () => {
    const deps = create()
    const first = Promise.withResolvers<void>()
    const steps: string[] = []
    const one = runExclusively(deps, 'a', async () => {
      steps.push('first begins')
      await first.promise
      steps.push('first ends')
    })
    const two = runExclusively(deps, 'a', async () => void steps.push('second'))
    const other = runExclusively(deps, 'b', async () => void steps.push('another subject'))
    await other
    await turn()
    expect(steps).toEqual(['first begins', 'another subject'])
    first.resolve()
    await Promise.all([one, two])
    expect(steps).toEqual(['first begins', 'another subject', 'first ends', 'second'])
    expect(deps.activeJobs.size).toBe(0)
  })

  test('is never twice in hand, however many jobs come', async () => {
    const deps = create()
    let [now, most, done] = [0, 0, 0]
    const work = async () => {
      now += 1
      most = Math.max(most, now)
      await turn()
      now -= 1
      done += 1
    }
    await Promise.all(Array.from({ length: 100 }, () => runExclusively(deps, 'a', work)))
    expect([most, done]).toEqual([1, 100])
  })

  test('is put down when the work throws; the next job does not hear of it', async () => {
    const deps = create()
    const failing = runExclusively(deps, 'a', () => Promise.reject(new Error('no luck')))
    const next = runExclusively(deps, 'a', async () => {})
    await expect(failing).rejects.toThrow('no luck')
    await next
    expect(deps.activeJobs.size).toBe(0)
  })
})

const away = () => Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })

describe('what must be recorded', () => {
  test('is tried again while the database is away', async () => {
    let calls = 0
    const record = async () => {
      calls += 1
      if (calls < 3) throw away()
      return 'recorded'
    }
    expect(await retryWhileDatabaseDown(record)).toBe('recorded')
    expect(calls).toBe(3)
  })

  test('outlasts a database that is away for hours', async () => {
    const hour = 3_600_000
    let calls = 0
    const now = vi.spyOn(Date, 'now').mockImplementation(() => calls * hour)
    const record = async () => {
      calls += 1
      if (calls < 4) throw away()
      return 'recorded'
    }
    expect(await retryWhileDatabaseDown(record).finally(() => now.mockRestore())).toBe('recorded')
  })

  test.each([
    ['a mistake of ours', new TypeError('x is undefined')],
    ['a refusal by the database', Object.assign(new pg.DatabaseError('no', 0, 'error'), { code: '23505' })],
  ])('is not tried again after %s', async (_what, error) => {
    let calls = 0
    const record = () => {
      calls += 1
      return Promise.reject(error)
    }
    await expect(retryWhileDatabaseDown(record)).rejects.toBe(error)
    expect(calls).toBe(1)
  })
})

describe('a claim', () => {
  test('whose answer never came is taken back, however often that takes, and the job comes again', async () => {
    const steps: string[] = []
    const undo = async () => {
      steps.push('undo')
      if (steps.length < 3) throw away()
    }
    const lost = away()
    await expect(claimOrRelease(() => Promise.reject(lost), undo)).rejects.toBe(lost)
    expect(steps).toEqual(['undo', 'undo', 'undo'])
  })

  test('that was answered stands', async () => {
    const undo = () => Promise.reject(new Error('taken back'))
    expect(await claimOrRelease(async () => 'mine', undo)).toBe('mine')
    expect(await claimOrRelease(async () => undefined, undo)).toBeUndefined()
  })
})
