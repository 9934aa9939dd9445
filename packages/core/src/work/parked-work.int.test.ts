import { createTestCtx } from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { randomUUID } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { findUnpublishedEmails } from '../emails/claim-emails.ts'
import { idOf, uuidOf } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import { enqueue } from './enqueue.ts'
import { delayWork, findPublishableWork, parkWork } from './publish.ts'

const database = useTestDatabase()
const count = 5_000
let ctx: Ctx
beforeAll(async () => {
  ctx = await createTestCtx(database.db)
  const { rows } = await database.pool.query<{ id: string }>(
    `insert into work (id, workspace_id, kind)
     select uuidv7(), $1, 'EMAIL' from generate_series(1, $2) returning id`,
    [uuidOf(ctx.workspaceId), count],
  )
  const uuids = rows.map(({ id }) => id)
  await parkWork(ctx, uuids.slice(0, count / 2))
  await delayWork(ctx, uuids.slice(count / 2))
  await enqueue(ctx, 'EMAIL', idOf('mai', randomUUID()))
  await database.pool.query('vacuum analyze work')
})

/** Counts the rows of `work` that PostgreSQL reads. */
async function countReads(run: () => Promise<unknown>): Promise<number> {
  const read = async () => {
    await database.pool.query('select pg_stat_force_next_flush()')
    const { rows } = await database.pool.query<{ count: string }>(
      `select seq_tup_read + idx_tup_fetch as count from pg_stat_user_tables where relname = 'work'`,
    )
    return Number(rows[0]?.count)
  }
  const before = await read()
  await run()
  return (await read()) - before
}

test('neither an accept nor a job reads parked emails, and the poll reads them once', async () => {
  expect(await countReads(() => findUnpublishedEmails(ctx, { limit: 25, offset: 0 }))).toBeLessThan(100)
  expect(await countReads(() => enqueue(ctx, 'EMAIL', idOf('mai', randomUUID())))).toBeLessThan(100)
  expect(await countReads(() => findPublishableWork(database.db))).toBeLessThan(count + 100)
  expect(await findPublishableWork(database.db)).toHaveLength(2)
})
