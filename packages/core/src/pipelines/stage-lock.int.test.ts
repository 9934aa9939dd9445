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

const operations: Record<string, (pipeline: Pipeline) => Promise<unknown>> = {
  'creating deals concurrently': async ({ id: pipelineId, stages: [first, second] }) => {
    const { id: contactId } = await createTestContact(ctx)
    return Promise.all(
      [second, second, first].map((stage) => createTestDeal(ctx, { pipelineId, contactId, stageId: stage?.id })),
    )
  },
  'updating the stages of a pipeline': async ({ id, stages: [first] }) =>
    updatePipeline(ctx, id, { stages: [{ id: first?.id, name: 'Other' }] }),
  'deleting a pipeline': async ({ id }) => deletePipeline(ctx, id),
}

test.each(Object.keys(operations))('%s locks stages in the order of their ids', async (name) => {
  const pipeline = await createTestPipeline(ctx, ['a', 'b'])
  const lock = (at: number) => sql`
      select from stages where workspace_id = ${uuidOf(ctx.workspaceId)} and id = ${uuidOf(pipeline.stages[at]?.id ?? newId('stg'))}
      for update skip locked`
  const holding = await openTransaction(ctx.db, (db) => db.execute(lock(0)))
  onTestFinished(() => holding.commit())
  const running = operations[name]?.(pipeline)
  await waitUntilBlocked(database.db)
  expect((await database.db.execute(lock(1))).rowCount).toBe(1)
  await holding.commit()
  await running
})
