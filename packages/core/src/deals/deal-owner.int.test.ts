import { and, eq, inArray } from 'drizzle-orm'
import { beforeEach, expect, test } from 'vitest'
import { readContact } from '../contacts/read-contact.ts'
import { companies, deals, events, tasks } from '../db/schema/index.ts'
import { newId, type UserId } from '../kernel/ids.ts'
import { mergeContacts } from '../operations/contacts/merge-contacts.ts'
import { deleteWorkspace } from '../operations/workspaces/delete-workspace.ts'
import type { Ctx } from '../request/context.ts'
import { removeMember } from '../team/members.ts'
import { readWorkspace } from '../workspaces/workspaces.ts'
import {
  createTestCompany,
  createTestContact,
  createTestCtx,
  createTestDeal,
  createTestMember,
  createTestTask,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { openTransaction, openUnrepeated, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { listDeals } from './list-deals.ts'
import { deleteDeal, readDeal, updateDeal } from './update-deal.ts'
import { type Deal, DealQuery } from './deals.schema.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
let deal: Deal
beforeEach(async () => {
  deal = await createTestDeal(ctx)
})

/** Returns the data of `deal.updated` events, oldest first. */
async function readUpdates(): Promise<unknown[]> {
  const isUpdate = and(eq(events.workspaceId, ctx.workspaceId), eq(events.type, 'deal.updated'))
  const rows = await ctx.db.select().from(events).where(isUpdate).orderBy(events.id)
  return rows.map(({ data }) => data)
}

test('an owner must be a member of the workspace', async () => {
  const ownerId = await createTestMember(ctx)
  const foreigner = await createTestMember(await createTestCtx(database.db))
  expect(await updateDeal(ctx, deal.id, { ownerId })).toMatchObject({ ownerId })
  expect(await createTestDeal(ctx, { ownerId })).toMatchObject({ ownerId })
  for (const userId of [foreigner, newId('usr')]) {
    const error = { code: 'validation_error', issues: [{ path: 'ownerId', message: 'User not found' }] }
    await expect(updateDeal(ctx, deal.id, { ownerId: userId })).rejects.toMatchObject(error)
    await expect(createTestDeal(ctx, { ownerId: userId })).rejects.toMatchObject(error)
  }
  expect(await updateDeal(ctx, deal.id, { ownerId: null })).toMatchObject({ ownerId: null })
})

test('a deal of a member who leaves has no owner, with one event', async () => {
  const [ownerId, other] = [await createTestMember(ctx), await createTestMember(ctx)]
  const won = await updateDeal(ctx, deal.id, { ownerId, status: 'WON' })
  const kept = await createTestDeal(ctx, { ownerId: other })
  const { lastActivityAt } = await readContact(ctx, deal.contactId)
  await removeMember(ctx, ownerId)
  const cleared = { ...won, ownerId: null, updatedAt: expect.any(String) }
  expect(await readDeal(ctx, deal.id)).toEqual(cleared)
  expect((await readUpdates()).slice(1)).toEqual([{ ...cleared, changes: { ownerId: { from: ownerId, to: null } } }])
  expect((await readContact(ctx, deal.contactId)).lastActivityAt).toBe(lastActivityAt)
  expect(await readDeal(ctx, kept.id)).toEqual(kept)
})

test('a deal that gets an owner while the member leaves has none', async () => {
  const ownerId = await createTestMember(ctx)
  const assigning = await openTransaction(ctx.db, (db) => updateDeal({ ...ctx, db }, deal.id, { ownerId }))
  const leaving = removeMember(ctx, ownerId)
  await waitUntilBlocked(database.db)
  await assigning.commit()
  await leaving
  expect(await readDeal(ctx, deal.id)).toMatchObject({ ownerId: null })
  expect(await readUpdates()).toMatchObject([{ ownerId }, { ownerId: null }])
})

test('members who leave do not deadlock with deals that are closed', async () => {
  const unrepeated = { ...ctx, db: openUnrepeated(database) }
  const contacts = await Promise.all(Array.from({ length: 8 }, () => createTestContact(ctx)))
  for (let round = 0; round < 10; round++) {
    const ownerId = await createTestMember(ctx)
    const owned = await Promise.all(
      contacts.map(({ id: contactId }) => createTestDeal(ctx, { pipelineId: deal.pipelineId, contactId, ownerId })),
    )
    await Promise.all(contacts.map(({ id: contactId }) => createTestTask(ctx, { contactId, assigneeId: ownerId })))
    const closed = owned.map(({ id }, n) =>
      n % 3 === 0
        ? deleteDeal(unrepeated, id)
        : updateDeal(unrepeated, id, n % 3 === 1 ? { status: 'WON' } : { status: 'LOST' }),
    )
    await Promise.all([
      removeMember(unrepeated, ownerId),
      ...closed,
      mergeContacts(ctx, (await createTestContact(ctx)).id, { contactId: (await createTestContact(ctx)).id }),
    ])
  }
  const { data } = await listDeals(ctx, DealQuery.parse({ limit: '100', status: ['WON', 'LOST'] }))
  expect(data.map(({ ownerId, status }) => ownerId ?? status).toSorted()).toEqual([
    ...Array.from({ length: 20 }, () => 'LOST'),
    ...Array.from({ length: 30 }, () => 'WON'),
  ])
})

test.each<[string, (of: Ctx, userId: UserId) => Promise<object>]>([
  ['deal', (of, ownerId) => createTestDeal(of, { ownerId, pipelineId: deal.pipelineId, contactId: deal.contactId })],
  ['task', (of, assigneeId) => createTestTask(of, { assigneeId, contactId: deal.contactId })],
  ['company', (of, ownerId) => createTestCompany(of, { ownerId })],
])('a %s that is created while its member leaves names no other than members', async (_record, create) => {
  const first = await createTestMember(ctx)
  const creating = await openTransaction(ctx.db, (db) => create({ ...ctx, db }, first))
  const removing = removeMember(ctx, first)
  await waitUntilBlocked(database.db)
  await creating.commit()
  await removing

  const second = await createTestMember(ctx)
  const leaving = await openTransaction(ctx.db, (db) => removeMember({ ...ctx, db }, second))
  const late = Promise.allSettled([create(ctx, second)])
  await waitUntilBlocked(database.db)
  await leaving.commit()
  expect(await late).toMatchObject([{ reason: { code: 'validation_error', message: 'User not found' } }])
  for (const [table, column] of [
    [deals, deals.ownerId],
    [tasks, tasks.assigneeId],
    [companies, companies.ownerId],
  ] as const)
    expect(await ctx.db.$count(table, inArray(column, [first, second]))).toBe(0)
})

test('the deletion of a workspace writes none of the records that name members', async () => {
  const owned = await updateDeal(ctx, deal.id, { ownerId: await createTestMember(ctx) })
  await deleteWorkspace(ctx, { name: (await readWorkspace(ctx)).name })
  expect(await readDeal(ctx, deal.id)).toEqual(owned)
})
