import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { createTestCtx } from '@rapport/testing/fixtures/factories.ts'
import { hidesPlans } from '@rapport/testing/postgres/explain.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { contactCreated } from '../../contacts/contact-events.ts'
import { emitMany } from '../../events/emit.ts'
import { EventQuery } from '../../webhooks/deliveries.schema.ts'
import { listEvents } from '../../webhooks/event-feed.ts'
import { transaction } from '../transaction.ts'
import type { Ctx } from '../../request/context.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

const emit = (on: Ctx, count: number) =>
  emitMany(on, contactCreated, Array.from({ length: count }, () => ({ id: on.workspaceId })) as never)

test.skipIf(hidesPlans)('pages of a workspace that the statistics do not know share a plan', async () => {
  await emit(await createTestCtx(database.db), 30_000)
  await database.pool.query('analyze events')
  await emit(ctx, 1_000)
  const plans = await transaction(database.db, async (db) => {
    for (let count = 0; count < 8; count += 1) await listEvents({ ...ctx, db }, EventQuery.parse({}))
    const { rows } = await db.execute(
      sql`select generic_plans::int as generic from pg_prepared_statements where statement like '%from events%order by%'`,
    )
    return rows
  })
  expect(plans).toEqual([{ generic: 3 }])
})
