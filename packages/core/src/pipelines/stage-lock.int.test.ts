import { sql } from 'drizzle-orm'
import { expect, onTestFinished, test } from 'vitest'
import { newId, uuidOf } from '../kernel/ids.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { createTestContact, createTestDeal, createTestPipeline } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { updatePipeline, deletePipeline } from './pipelines.ts'
import type { Pipeline } from './pipelines.schema.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

const takers: Record<string, (pipeline: Pipeline) => Promise<unknown>> = {
  'deals that are created together': async ({ id: pipelineId, stages: [first, second] }) => {
    const { id: contactId } = await createTestContact(ctx)
    return Promise.all(
      [second, second, first].map((stage) => createTestDeal(ctx, { pipelineId, contactId, stageId: stage?.id })),
    )
  },
  'a pipeline whose stages change': async ({ id, stages: [first] }) =>
    updatePipeline(ctx, id, { stages: [{ id: first?.id, name: 'Other' }] }),
  'a pipeline that is deleted': async ({ id }) => deletePipeline(ctx, id),
}

test.each(Object.keys(takers))(
  'whoever takes several stages does so in the order of their ids, so that no two wait for each other: %s',
  async (taker) => {
    const pipeline = await createTestPipeline(ctx, ['a', 'b'])
    const lock = (at: number) => sql`
      select from stages where workspace_id = ${uuidOf(ctx.workspaceId)} and id = ${uuidOf(pipeline.stages[at]?.id ?? newId('stg'))}
      for update skip locked`
    const holding = await openTransaction(ctx.db, (db) => db.execute(lock(0)))
    onTestFinished(() => holding.commit())
    const taking = takers[taker]?.(pipeline)
    await waitUntilBlocked(database.db)
    expect((await database.db.execute(lock(1))).rowCount).toBe(1)
    await holding.commit()
    await taking
  },
)
