import { createEmptyDatabase } from '@rapport/testing/postgres/database.ts'
import { migrateUntil } from '@rapport/testing/previous-release/previous-release.ts'
import { useForTest } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { hasPendingMigrations } from '../../db/migrate.ts'
import { prepareRestoredDatabase } from './prepare-restored-database.ts'

const database = useForTest(createEmptyDatabase)

test('a backup of release 0.2 that a worker had just written to is migrated', async () => {
  await migrateUntil(database.pool, '0021_webhook_drains')
  await database.pool.query(`insert into workers (id, host, seen_at) values (uuidv7(), 'worker', now())`)
  expect(await prepareRestoredDatabase(database.url)).toMatchObject({ deliveries: 0, mails: 0 })
  expect(await hasPendingMigrations(database.db)).toBe(false)
  expect((await database.pool.query('select from workers')).rowCount).toBe(0)
})
