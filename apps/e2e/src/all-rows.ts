import { waitUntil } from '@rapport/testing/wait.ts'
import { countOpenWork, type Stack } from './stack.ts'

/** Reads all rows of all tables when all work is done, except `workers`, which changes with every heartbeat. */
export async function readAllRows(stack: Pick<Stack, 'database'>): Promise<Record<string, unknown[]>> {
  await waitUntil(async () => (await countOpenWork(stack)) === 0, { describe: 'all work is done' })
  const { pool } = stack.database
  const tables = await pool.query<{ name: string }>(
    `select table_name as name from information_schema.tables where table_schema = 'public' and table_name <> 'workers'`,
  )
  const rows = await Promise.all(
    tables.rows.map(async ({ name }) => {
      const found = await pool.query<{ row: unknown }>(
        `select to_jsonb(t) as row from ${name} t order by to_jsonb(t)::text`,
      )
      return [name, found.rows.map(({ row }) => row)] as const
    }),
  )
  return Object.fromEntries(rows)
}
