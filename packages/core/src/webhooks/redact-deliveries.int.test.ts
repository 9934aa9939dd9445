import { expect, test } from 'vitest'
import {
  createTestContact,
  createTestDeal,
  createTestPipeline,
  createTestWebhook,
  createTestWorker,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { drainTestBacklog, insertDeliveries } from '@rapport/testing/fixtures/webhook-drain.ts'
import { updateDeal } from '../deals/update-deal.ts'
import { type ContactId, uuidOf } from '../kernel/ids.ts'
import { deleteContact } from '../operations/contacts/delete-contact.ts'
import { eraseNextStep } from '../operations/contacts/erase-contact.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

/** Makes all receivers respond to what is pending. */
async function respond(responseBody: string): Promise<void> {
  await drainTestBacklog(ctx, { workerId: await createTestWorker(database.db), outcome: { responseBody } })
}

/** Deletes a contact and erases what outlives it. Returns the number of steps. */
async function erase(id: ContactId): Promise<number> {
  await deleteContact(ctx, id)
  for (let steps = 1; ; steps++) if ((await eraseNextStep(ctx, uuidOf(id))) === 'done') return steps
}

/** The events of each response that is kept. */
async function readKept(): Promise<string[]> {
  const { rows } = await database.pool.query<{ type: string }>(
    'select event_type as type from deliveries where workspace_id = $1 and response_body is not null order by id',
    [uuidOf(ctx.workspaceId)],
  )
  return rows.map(({ type }) => type)
}

test('an erasure reads no delivery from before the first event of the contact', async () => {
  const dayMs = 86_400_000
  for (let webhook = 0; webhook < 2; webhook++) {
    const { id } = await createTestWebhook(ctx, { eventTypes: ['*'] })
    await insertDeliveries(ctx, id, { count: 12_000, ageMs: 10 * dayMs, status: 'SUCCEEDED' })
  }
  const { id } = await createTestContact(ctx)
  await respond('received')
  expect(await readKept()).toHaveLength(2)
  expect(await erase(id)).toBe(4)
  expect(await readKept()).toEqual([])
})

test('responses to a deal are redacted with its person, also from before it was theirs', async () => {
  const pipeline = await createTestPipeline(ctx)
  const [bob, ada] = [await createTestContact(ctx), await createTestContact(ctx)]
  await createTestWebhook(ctx, { eventTypes: ['*'] })
  const createDeal = () => createTestDeal(ctx, { pipelineId: pipeline.id, contactId: bob.id, name: 'Ada Lovelace' })
  const [given] = [await createDeal(), await createDeal()]
  await respond('Ada Lovelace')
  await updateDeal(ctx, given.id, { contactId: ada.id })
  await respond('Ada Lovelace')
  expect(await readKept()).toEqual(['deal.created', 'deal.created', 'deal.updated'])
  await erase(ada.id)
  expect(await readKept()).toEqual(['deal.created'])
})
