import { sql } from 'drizzle-orm'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import type { EventFilter, FilterValue } from '../db/schema/index.ts'
import { toFacts, toJsonPath } from './event-filter.ts'

const database = useTestDatabase()

/** Few fields and values, so that many conditions hold. Their texts have what quoting could miss. */
const fields = ['status', 'source', 'valueCents', 'constructor', 'a"b', 'é.$[*]\\']
const values: FilterValue[] = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  9_007_199_254_740_991,
  1e21,
  '',
  'null',
  '1',
  'WON',
  "it's",
]
const texts = ['"', '\\', '\\u0041', '$.status', '🦉', 'a\u2028b', 'é', '" == "" || "" == "', '/* */', '*', 'a\\"b']
const value = fc.constantFrom<FilterValue>(...values, ...texts)
const field = fc.constantFrom(...fields)
const condition = fc.oneof(fc.record({ eq: value }), fc.record({ in: fc.array(value, { minLength: 1, maxLength: 4 }) }))
const someFields = fc.array(field, { minLength: 1, maxLength: 3 })
const conditions = fc.dictionary(field, condition, { minKeys: 1, maxKeys: 3 })
const filter: fc.Arbitrary<EventFilter> = fc.oneof(
  conditions,
  fc.tuple(conditions, someFields).map(([all, changed]) => ({ ...all, changed })),
  someFields.map((changed) => ({ changed })),
)
const record = fc.dictionary(field, fc.oneof(value, fc.constant(['WON']), fc.constant({ eq: 1 })), { maxKeys: 6 })

function isMatch(data: Record<string, unknown>, changed: readonly string[], { changed: named, ...rest }: EventFilter) {
  if (named && !named.some((name) => changed.includes(name))) return false
  return Object.entries(rest as Record<string, { eq: FilterValue } | { in: FilterValue[] }>).every(([name, test]) => {
    const allowed: unknown[] = 'in' in test ? test.in : [test.eq]
    return Object.hasOwn(data, name) && allowed.includes(data[name])
  })
}

async function decide(cases: readonly { facts: string; path: string }[]): Promise<boolean[]> {
  const { rows } = await database.db.execute<{ matches: boolean }>(sql`
    select coalesce(facts @@ path::jsonpath, false) as matches
    from json_to_recordset(${JSON.stringify(cases)}::json) as given (facts jsonb, path text)`)
  return rows.map(({ matches }) => matches)
}

test('PostgreSQL decides as the model, for any filter and event', async () => {
  const cases = fc.sample(fc.tuple(record, fc.uniqueArray(field, { maxLength: 3 }), filter), 3_000)
  const expected = cases.map(([data, changed, filter]) => isMatch(data, changed, filter))
  const decided = await decide(
    cases.map(([data, changed, filter]) => ({
      facts: JSON.parse(toFacts(data, changed)) as string,
      path: toJsonPath(filter),
    })),
  )
  expect(cases.filter((_case, index) => decided[index] !== expected[index])).toEqual([])
  expect(expected.filter(Boolean).length).toBeGreaterThan(100)
})

test('facts of an event have only what a filter can name', () => {
  const data = {
    a: 'x\u0000',
    b: '\ud83d',
    c: 'x'.repeat(501),
    d: 'two\nlines',
    e: ['a'],
    f: {},
    g: ' e\u0301 ',
    h: null,
    i: 0,
  }
  expect(JSON.parse(toFacts(data, ['email']))).toEqual({ g: 'é', h: null, i: 0, changed: ['email'] })
})
