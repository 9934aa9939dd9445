import { randomUUID } from 'node:crypto'
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Database, openDatabase } from '../db/client.ts'
import { createTestDatabase, type TestDatabase } from '@rapport/testing/postgres/database.ts'
import { claimDeliveries } from './deliveries.ts'
import { settleDeliveries } from './settlement.ts'

let testDatabase: TestDatabase
let database: Database
beforeAll(async () => {
  testDatabase = await createTestDatabase()
  // One connection, which shows how it would run what is prepared on it, whatever the values.
  const options = { applicationName: 'rapport test', maxConnections: 1, onError: () => {} }
  database = openDatabase(testDatabase.url, { ...options, settings: { plan_cache_mode: 'force_generic_plan' } })
})
afterAll(async () => {
  await database.close()
  await testDatabase.close()
})

// PostgreSQL 18.4 ends with a segmentation fault, and every connection with it, where what locks rows leaves out partitions by
// a parameter and then meets a row that another has just changed.
test('what is prepared and locks deliveries leaves out no partition by a parameter', async () => {
  const { db } = database
  await claimDeliveries(db, randomUUID(), [])
  await settleDeliveries(db, randomUUID(), { ended: [], inHand: [] })
  const prepared = await db.execute<{ name: string; parameters: number }>(
    sql`select name, cardinality(parameter_types) as parameters from pg_prepared_statements order by name`,
  )
  expect(prepared.rows.map(({ name }) => name)).toEqual(['claim deliveries', 'settle deliveries'])
  for (const { name, parameters } of prepared.rows) {
    const values = Array.from({ length: parameters }, () => 'null').join(', ')
    const { rows } = await db.execute<{ 'QUERY PLAN': string }>(sql.raw(`explain execute "${name}"(${values})`))
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
    expect(plan).toMatch(/LockRows[^]* on deliveries_\d+ /)
    expect(plan).not.toContain('Subplans Removed')
  }
})
