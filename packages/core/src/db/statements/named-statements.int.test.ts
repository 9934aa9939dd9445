/** PostgreSQL describes every statement that is written in SQL, without running it. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { is, Placeholder, sql } from 'drizzle-orm'
import type pg from 'pg'
import { beforeAll, expect, test } from 'vitest'
import { compareColumns, nameOfType } from '@rapport/testing/postgres/compare-columns.ts'
import { withAdminClient } from '@rapport/testing/postgres/database.ts'
import { describeStatement } from '@rapport/testing/postgres/describe-statement.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { findRefusedShapes } from '@rapport/testing/tenancy/require-one-workspace.ts'
import { type DeclaredStatement, declaredStatements } from './named-statement.ts'
import { int, text, timestamptz, uuid } from './sql-types.ts'

const database = useTestDatabase()

beforeAll(async () => {
  const folder = join(import.meta.dirname, '../..')
  const paths = globSync('**/*.ts', { cwd: folder, exclude: ['**/*.test.ts'] }).map((path) => join(folder, path))
  // Other files declare no statements.
  const declaring = paths.filter((path) =>
    /(Statement|insertWithEvents|recordsOfContacts)\(/.test(readFileSync(path, 'utf8')),
  )
  for (const path of declaring) await import(path)
})

test('every statement has the parameters and columns that it declares', async () => {
  const statements = declaredStatements()
  expect(statements.length).toBeGreaterThan(0)
  expect(await findAllDifferences(statements)).toEqual([])
})

test('no statement has a shape that Citus refuses', async () => {
  const found = declaredStatements().map(async ({ name, query, columns }) => {
    // A statement without columns returns the number of its rows.
    const shapes = await findRefusedShapes(query.sql, { isCounted: Object.keys(columns).length === 0 })
    return shapes.map((shape) => `${name}: ${shape}`)
  })
  expect((await Promise.all(found)).flat()).toEqual([])
})

test('a wrong column, a wrong type and an invalid statement are found', async () => {
  const differencesOf = (text: string, columns: DeclaredStatement['columns']) =>
    findAllDifferences([
      { name: 'x', query: { sql: text, params: [sql.placeholder('key')] }, types: { key: uuid }, columns },
    ])
  const statement = 'select email, created_at from contacts where id = $1'
  expect(await differencesOf(statement, { createdAt: timestamptz, email: text })).toEqual([])
  expect(await differencesOf(statement, { email: text, createdAt: text, count: int })).toEqual([
    'x: does not return created_at text',
    'x: does not return count integer',
    'x: does not declare created_at timestamp with time zone',
  ])
  expect(await differencesOf('select from contacts where email = $1', {})).toEqual([
    'x: the parameter key is text, not uuid',
  ])
  expect(await differencesOf('select nothing from contacts where id = $1', {})).toEqual([
    'x: error: column "nothing" does not exist',
  ])
})

function findAllDifferences(statements: readonly DeclaredStatement[]): Promise<string[]> {
  return withAdminClient(database.url, async (client) => {
    const all: string[] = []
    for (const statement of statements) {
      const found = await findDifferences(client, statement).catch((error: unknown) => [String(error)])
      all.push(...found.map((difference) => `${statement.name}: ${difference}`))
    }
    return all
  })
}

async function findDifferences(client: pg.Client, { query, types, columns }: DeclaredStatement): Promise<string[]> {
  const described = await describeStatement(client, query.sql)
  const parameters = query.params.flatMap((param, index) => {
    if (!is(param, Placeholder)) return []
    const [declared, actual] = [types[param.name]?.sqlType, nameOfType(described.parameterTypes[index] ?? 0)]
    return declared === actual ? [] : [`the parameter ${param.name} is ${actual}, not ${declared}`]
  })
  return [...parameters, ...compareColumns(columns, described.columns)]
}
