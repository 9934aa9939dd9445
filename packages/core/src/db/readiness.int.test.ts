import { readFileSync } from 'node:fs'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import pg from 'pg'
import { expect, test } from 'vitest'
import { rootMessageOf } from '../kernel/errors.ts'
import { openDatabase } from './client.ts'
import { describeDatabaseProblem } from './database-errors.ts'
import { Readiness, readReadiness } from './readiness.ts'
import { assertSupportedServer } from './server-version.ts'

const database = useTestDatabase()

test('the reason why the database is down is shown, and given to the log', async () => {
  const url = new URL(database.url)
  url.pathname = '/no_such_database'
  const wrong = openDatabase(url.href, { applicationName: 'wrong', onError: () => {} })
  const reasons: string[] = []
  const log = (error: Error) => void reasons.push(rootMessageOf(error))
  await assertSupportedServer(wrong.db, log)
  const process = { pingRedis: undefined, isStopping: false, onDown: log }
  const readClock = async () => ({ status: 'unknown', offsetMs: null }) as const
  expect(await readReadiness({ db: wrong.db, readClock, ...process })).toMatchObject({
    status: 'unavailable',
    problem: 'the database does not exist',
  })
  expect(reasons).toEqual([expect.stringContaining('no_such_database'), expect.stringContaining('no_such_database')])
  expect(await readReadiness({ db: database.db, readClock, ...process })).toMatchObject({ problem: null })
  await wrong.close()
})

test.each([
  [Object.assign(new pg.DatabaseError('password authentication failed', 1, 'error'), { code: '28P01' }), /refused/],
  [Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }), /connection is refused/],
  [new AggregateError([Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })]), /connection is refused/],
  [new Error('timeout exceeded when trying to connect'), /does not respond/],
  [new Error('getaddrinfo db.internal'), /see the log/],
])('%s is described without names', (error, expected) => {
  expect(describeDatabaseProblem(error)).toMatch(expected)
})

test('docs/operations.md shows a response with all its fields', () => {
  const page = readFileSync(new URL('../../../../docs/operations.md', import.meta.url), 'utf8')
  const [, block = ''] = /^```json\n(\{\n {2}"status": "degraded"[^]*?)^```$/m.exec(page) ?? []
  const example: unknown = JSON.parse(block)
  expect(Readiness.strict().parse(example)).toEqual(example)
})
