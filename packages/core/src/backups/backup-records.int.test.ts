import { createEmptyDatabase } from '@rapport/testing/postgres/database.ts'
import { useForFile, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeEach, expect, test } from 'vitest'
import { findNewestBackup, recordBackup } from './backup-records.ts'
import { timestampNow, type Timestamp, timestampAt } from '../kernel/values/timestamps.ts'

const database = useTestDatabase()
const empty = useForFile(createEmptyDatabase)
beforeEach(async () => {
  await database.pool.query('truncate backups')
})

const backupAt = (createdAt: Timestamp) => ({
  fileName: `rapport-${Date.parse(createdAt)}.dump`,
  bytes: 5_000_000_000_000,
  durationMs: 1_000,
  isEncrypted: true,
  isVerified: false,
  createdAt,
})
const hoursAgo = (hours: number) => timestampAt(Date.now() - hours * 3_600_000)

test('the newest backup is found by the time of its snapshot', async () => {
  expect(await findNewestBackup(database.db)).toBe(undefined)
  const newest = backupAt(hoursAgo(2))
  for (const record of [newest, backupAt(hoursAgo(3))]) expect(await recordBackup(database.db, record)).toBe(true)
  const found = await findNewestBackup(database.db)
  expect(found).toMatchObject(newest)
  expect(found?.ageSeconds).toBeGreaterThanOrEqual(7_200)
})

test('keeps the newest 400 records', async () => {
  await database.pool.query(`
    insert into backups
    select n || '.dump', 1, 1, true, true, now() - n * interval '1 day' from generate_series(1, 450) n`)
  await recordBackup(database.db, backupAt(timestampNow()))
  const { rows } = await database.pool.query(
    "select count(*)::int as count, max(now() - created_at) < interval '400 days' as is_newest from backups",
  )
  expect(rows).toEqual([{ count: 400, is_newest: true }])
})

test('does nothing in a database without the table', async () => {
  expect(await recordBackup(empty.db, backupAt(timestampNow()))).toBe(false)
})
