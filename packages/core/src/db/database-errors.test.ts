import { DrizzleQueryError } from 'drizzle-orm'
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { conflict } from '../kernel/errors.ts'
import { describeStartupError, isDatabaseUnavailable, onConstraint, violatedConstraint } from './database-errors.ts'

function databaseError(code: string, constraint?: string) {
  const error = new pg.DatabaseError('refused', 0, 'error')
  return Object.assign(error, { code, ...(constraint && { constraint }) })
}
const wrapped = (cause: Error) => new DrizzleQueryError('select 1', [], cause)
const withCode = (code: string) => Object.assign(new Error('connect'), { code })

describe('the database is unavailable', () => {
  test.each(
    [
      [
        '08000',
        '08003',
        '08006',
        '08P01',
        '57P01',
        '57P02',
        '57P03',
        '53000',
        '53100',
        '53200',
        '53300',
        '55P03',
        '28P01',
        '3D000',
      ],
      ['57014', '25P03', '40001', '40P01'],
    ].flat(),
  )('when a statement fails with %s', (code) => {
    expect(isDatabaseUnavailable(databaseError(code))).toBe(true)
    expect(isDatabaseUnavailable(wrapped(databaseError(code)))).toBe(true)
  })

  test.each([
    'ECONNREFUSED',
    'ECONNRESET',
    'ENOTFOUND',
    'EAI_AGAIN',
    'ETIMEDOUT',
    'EPIPE',
    'EHOSTUNREACH',
    'ENETUNREACH',
  ])('when its connection fails with %s', (code) => {
    expect(isDatabaseUnavailable(withCode(code))).toBe(true)
    expect(isDatabaseUnavailable(wrapped(withCode(code)))).toBe(true)
    expect(isDatabaseUnavailable(new AggregateError([withCode('EOTHER'), withCode(code)]))).toBe(true)
  })

  test.each([
    'timeout exceeded when trying to connect',
    'Connection terminated',
    'Connection terminated unexpectedly',
    'Connection terminated due to connection timeout',
    'Client has encountered a connection error and is not queryable',
    'Client was closed and is not queryable',
    'Query read timeout',
    'Cannot use a pool after calling end on the pool',
  ])('when the driver reports "%s"', (message) => {
    expect(isDatabaseUnavailable(new Error(message))).toBe(true)
    expect(isDatabaseUnavailable(wrapped(new Error(message)))).toBe(true)
  })
})

test.each(['failure on connection marked as essential: 10.0.0.7:5432', 'server closed the connection unexpectedly'])(
  'the database is unavailable when Citus reports "%s" as an internal error',
  (message) => {
    const error = Object.assign(new pg.DatabaseError(message, 0, 'error'), { code: 'XX000' })
    expect(isDatabaseUnavailable(wrapped(error))).toBe(true)
  },
)

describe('the database is available', () => {
  test.each(['23505', '23503', '22P02', '22021', '42P01', '42601', '42501', '22003', '54001', 'XX000'])(
    'when a statement fails with %s',
    (code) => {
      expect(isDatabaseUnavailable(databaseError(code))).toBe(false)
    },
  )

  test.each([
    new Error('boom'),
    new TypeError('x is undefined'),
    conflict('already_exists', 'taken'),
    new AggregateError([]),
    withCode('ENOENT'),
  ])('when %s was thrown', (error) => {
    expect(isDatabaseUnavailable(error)).toBe(false)
  })

  test.each([undefined, null, 'Connection terminated', 42, {}])('when %j was thrown', (error) => {
    expect(isDatabaseUnavailable(error)).toBe(false)
  })
})

describe('a violated constraint', () => {
  const violation = wrapped(databaseError('23505', 'users_email_key'))

  test('is returned by name', () => {
    expect(violatedConstraint(violation)).toBe('users_email_key')
    expect(violatedConstraint(databaseError('23505', 'users_email_key'))).toBe('users_email_key')
    expect(violatedConstraint(new Error('users_email_key'))).toBeUndefined()
  })

  test('on another server of a Citus cluster is returned without the number of its shard', () => {
    const message = 'duplicate key value violates unique constraint "contacts_email_key_102008"'
    expect(violatedConstraint(Object.assign(new pg.DatabaseError(message, 0, 'error'), { code: '23505' }))).toBe(
      'contacts_email_key',
    )
  })

  test('is converted to the given error, and any other error is rethrown', () => {
    const handle = onConstraint('users_email_key', () => conflict('already_exists', 'Taken'))
    expect(() => handle(violation)).toThrow(expect.objectContaining({ code: 'already_exists', message: 'Taken' }))
    const other = wrapped(databaseError('23505', 'other_key'))
    expect(() => handle(other)).toThrow(other)
  })
})

test('a known startup error is described in one line', () => {
  const taken = Object.assign(new Error('listen EADDRINUSE'), { code: 'EADDRINUSE', port: 3000 })
  expect(describeStartupError(taken)).toBe('Port 3000 is already in use')
  const refused = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:5432'), { code: 'ECONNREFUSED' })
  expect(describeStartupError(refused)).toBe('PostgreSQL is unavailable: connect ECONNREFUSED 127.0.0.1:5432')
  const pending = Object.assign(new pg.DatabaseError('no such relation', 0, 'error'), { code: '42P01' })
  expect(describeStartupError(new DrizzleQueryError('select', [], pending))).toBe(
    'Migrations are pending: run rapport migrate',
  )
  const bug = new TypeError('x is undefined')
  expect(describeStartupError(bug)).toBe(bug)
})
