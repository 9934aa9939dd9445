import { drizzle } from 'drizzle-orm/node-postgres'
import pg from 'pg'
import { type MockInstance, vi } from 'vitest'
import type { Ctx } from '@rapport/core/request/context.ts'
import type { TestDatabase } from './database.ts'

interface Statement {
  text: string
  values: unknown[]
}

/** Runs `work` on a connection of its own. Returns the statements that pg was given. */
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

/** pg takes a text or a query config, and the values in the config or as a second argument. */
function toStatement([query, values]: unknown[]): Statement {
  const config = typeof query === 'string' ? { text: query } : (query as pg.QueryConfig)
  return { text: config.text, values: (values ?? config.values ?? []) as unknown[] }
}
