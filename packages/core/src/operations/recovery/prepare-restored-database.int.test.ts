import { createEmptyDatabase } from '@rapport/testing/postgres/database.ts'
import { useForTest } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { hasPendingMigrations, migrate } from '../../db/migrate.ts'
import { recordHeartbeat } from '../../work/worker-registry.ts'
import { prepareRestoredDatabase } from './prepare-restored-database.ts'

const database = useForTest(createEmptyDatabase)

test('a backup that a worker had just written to is accepted', async () => {
  await migrate(database.url)
  await recordHeartbeat(database.db, crypto.randomUUID())
  expect(await prepareRestoredDatabase(database.url)).toMatchObject({ deliveries: 0, mails: 0 })
  expect(await hasPendingMigrations(database.db)).toBe(false)
  expect((await database.pool.query('select from workers')).rowCount).toBe(0)
})
