import { drizzle } from 'drizzle-orm/node-postgres'
import pg from 'pg'
import { type MockInstance, vi } from 'vitest'
import type { Ctx } from '@rapport/core/request/context.ts'
import type { TestDatabase } from './database.ts'

interface Statement {
  text: string
  values: unknown[]
}

/** Runs `work` on a separate connection. Returns the statements that it ran. */
export async function recordStatements(
  database: TestDatabase,
  ctx: Ctx,
  work: (ctx: Ctx) => Promise<unknown>,
): Promise<Statement[]> {
  const spies: MockInstance[] = []
  const pool = new pg.Pool({ connectionString: database.url, max: 1 })
  pool.on('connect', (client) => void spies.push(vi.spyOn(client, 'query')))
  try {
    await work({ ...ctx, db: drizzle(pool, { casing: 'snake_case' }) })
  } finally {
    await pool.end()
  }
  return spies.flatMap(({ mock }) => mock.calls.map(toStatement))
}

/** The first argument of `query` is a text or a config; the values are in the config or in the second argument. */
function toStatement([query, values]: unknown[]): Statement {
  const config = typeof query === 'string' ? { text: query } : (query as pg.QueryConfig)
  return { text: config.text, values: (values ?? config.values ?? []) as unknown[] }
}
