import pg from 'pg'
import { describe, expect, test, vi } from 'vitest'
import { retryWhileDatabaseDown } from './retry-while-database-down.ts'
import { defaultTimings } from '../process/worker-timings.ts'

const deps = { timings: { ...defaultTimings, minRetryPauseMs: 1, maxRetryPauseMs: 1 } }

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
