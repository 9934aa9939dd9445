import { randomUUID } from 'node:crypto'
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { idInSql, idOf } from './ids.ts'

const database = useTestDatabase()

test('a statement writes an identifier as the program does, of the first UUID, the last, and any', async () => {
  const uuids = Array.from({ length: 1_000 }, () => randomUUID() as string)
  uuids.push('00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff')
  const { rows } = await database.db.execute<{ uuid: string; id: string }>(sql`
    select uuid, ${idInSql('stg', sql`uuid`)} as id from unnest(${sql.param(uuids)}::uuid[]) uuid`)
  expect(rows.map(({ id }) => id)).toEqual(rows.map(({ uuid }) => idOf('stg', uuid)))
  expect(rows).toHaveLength(uuids.length)
})
