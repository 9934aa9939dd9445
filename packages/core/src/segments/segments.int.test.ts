import {
  createTestCampaign,
  createTestCompany,
  createTestContact,
  createTestCtx,
  createTestList,
  createTestPipeline,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { eq, sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { createCampaign, deleteCampaign, readCampaign, updateCampaign } from '../campaigns/campaigns.ts'
import { CampaignInput } from '../campaigns/campaigns.schema.ts'
import { deleteCompany } from '../operations/contacts/delete-company.ts'
import { ContactQuery } from '../contacts/listing/contact-query.schema.ts'
import { listContacts } from '../contacts/listing/list-contacts.ts'
import { previewFilter } from '../contacts/listing/preview-filter.ts'
import { clearNextBatch } from '../custom-fields/clear-custom-field.ts'
import { CustomFieldInput } from '../custom-fields/custom-fields.schema.ts'
import { deleteCustomField } from '../operations/webhooks/delete-custom-field.ts'
import { createCustomField, updateCustomField } from '../custom-fields/custom-fields.ts'
import { campaigns, segments, workspaces } from '../db/schema/index.ts'
import { transaction } from '../db/transaction.ts'
import { newId, type SegmentId, uuidOf } from '../kernel/ids.ts'
import { deleteList } from '../lists/delete-list.ts'
import { deleteSegment } from '../operations/contacts/delete-segment.ts'
import { clearDeletedWorkspace, deleteWorkspace } from '../operations/workspaces/delete-workspace.ts'
import { deletePipeline } from '../pipelines/pipelines.ts'
import type { Ctx } from '../request/context.ts'
import type { Filter } from './filter.schema.ts'
import { SegmentInput, SegmentQuery } from './segments.schema.ts'
import { createSegment, listSegments, readSegment, updateSegment } from './segments.ts'
import { withinFilterTime } from './within-filter-time.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const anyone: Filter = { field: 'email', isSet: true }

const createTestSegment = (filter: unknown = anyone, name = 'Segment') =>
  createSegment(ctx, SegmentInput.parse({ name, filter }))
const defineField = (key: string, type: string, options: string[] = []) =>
  createCustomField(ctx, CustomFieldInput.parse({ key, label: key, type, options }))
const listPeople = async (segmentId: SegmentId) =>
  (await listContacts(ctx, ContactQuery.parse({ segmentId }))).data.map(({ firstName }) => firstName)
/** A campaign with the segment, in this status. */
async function createCampaignIn(status: (typeof campaigns.$inferSelect)['status'], segmentId: SegmentId) {
  const { id } = await createTestCampaign(ctx, { segmentId })
  await ctx.db.update(campaigns).set({ status }).where(eq(campaigns.id, id))
  return id
}

test('a segment is created, read, changed and deleted with its filter', async () => {
  const filter = {
    all: [{ not: { field: 'company', eq: "O'Neil \\ 50%" } }, { field: 'createdAt', after: '2026-01-01' }],
  }
  const segment = await createTestSegment(filter, ' Pro ')
  expect(segment).toMatchObject({ name: 'Pro', filter, createdAt: segment.updatedAt })
  expect(await readSegment(ctx, segment.id)).toEqual(segment)
  const renamed = await updateSegment(ctx, segment.id, { name: 'New' })
  expect(renamed).toMatchObject({ name: 'New', filter })
  expect(await updateSegment(ctx, segment.id, { filter: anyone })).toMatchObject({ name: 'New', filter: anyone })
  await expect(updateSegment(ctx, segment.id, { filter: { list: newId('lst') } })).rejects.toMatchObject({
    issues: [{ path: 'filter.list', message: 'List not found' }],
  })
  await deleteSegment(ctx, segment.id)
  for (const verb of [readSegment, deleteSegment, (ctx: Ctx, id: SegmentId) => updateSegment(ctx, id, {})])
    await expect(verb(ctx, segment.id)).rejects.toMatchObject({ code: 'not_found' })
})

test('a segment of another workspace does not exist', async () => {
  const { id } = await createTestSegment()
  const other = await createTestCtx(database.db)
  for (const verb of [readSegment, deleteSegment, (ctx: Ctx, id: SegmentId) => updateSegment(ctx, id, { name: 'a' })])
    await expect(verb(other, id)).rejects.toMatchObject({ code: 'not_found' })
  await expect(listContacts(other, ContactQuery.parse({ segmentId: id }))).rejects.toMatchObject({
    issues: [{ path: 'segmentId', message: 'Segment not found' }],
  })
  const { listId } = await createTestCampaign(other)
  const input = CampaignInput.parse({ name: 'a', subject: 'a', listId, segmentId: id })
  await expect(createCampaign(other, input)).rejects.toMatchObject({ issues: [{ path: 'segmentId' }] })
  expect((await listSegments(other, SegmentQuery.parse({}))).data).toEqual([])
})

test('segments are listed newest first, in pages, by part of the name', async () => {
  for (const name of ['Zoë 1', 'zoe 2', 'Zoé 3', 'Other']) await createTestSegment(anyone, name)
  const query = { search: 'ZOE', limit: '2' }
  const first = await listSegments(ctx, SegmentQuery.parse(query))
  expect(first.data.map(({ name }) => name)).toEqual(['Zoé 3', 'zoe 2'])
  const second = await listSegments(ctx, SegmentQuery.parse({ ...query, cursor: first.nextCursor }))
  expect([second.data.map(({ name }) => name), second.nextCursor]).toEqual([['Zoë 1'], null])
})

test('the quota of segments holds for requests at once', async () => {
  await ctx.db
    .update(workspaces)
    .set({ quotas: { segments: 2 } })
    .where(eq(workspaces.id, ctx.workspaceId))
  const results = await Promise.allSettled(Array.from({ length: 5 }, () => createTestSegment()))
  const reasons = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []))
  expect(reasons).toMatchObject(Array.from({ length: 3 }, () => ({ code: 'quota_exceeded' })))
})

test.each(['DRAFT', 'SENDING', 'PAUSED'] as const)('a segment of a %s campaign cannot be deleted', async (status) => {
  const { id } = await createTestSegment()
  const campaignId = await createCampaignIn(status, id)
  await expect(deleteSegment(ctx, id)).rejects.toMatchObject({
    code: 'in_use',
    message: `The campaign "November", which is ${status}, has this segment`,
  })
  expect(await readCampaign(ctx, campaignId)).toMatchObject({ segmentId: id })
})

test('a segment of ended campaigns is deleted, and they lose it', async () => {
  const { id } = await createTestSegment()
  const ended = [await createCampaignIn('SENT', id), await createCampaignIn('CANCELED', id)]
  const draft = await createCampaignIn('DRAFT', id)
  await expect(deleteSegment(ctx, id)).rejects.toMatchObject({ code: 'in_use' })
  await deleteCampaign(ctx, draft)
  await deleteSegment(ctx, id)
  for (const campaignId of ended) expect(await readCampaign(ctx, campaignId)).toMatchObject({ segmentId: null })
})

test('a draft that is written while its segment is deleted never lacks it', async () => {
  for (const change of [false, true]) {
    const { id } = await createTestSegment()
    const draft = await createTestCampaign(ctx)
    const input = CampaignInput.parse({ name: 'a', subject: 'a', listId: draft.listId, segmentId: id })
    const assign = () => (change ? updateCampaign(ctx, draft.id, { segmentId: id }) : createCampaign(ctx, input))
    const deleting = await openTransaction(ctx.db, (db) => deleteSegment({ ...ctx, db }, id))
    const assigned = assign().catch((error: unknown) => error)
    await waitUntilBlocked(database.db)
    await deleting.commit()
    expect(await assigned).toMatchObject({ issues: [{ path: 'segmentId', message: 'Segment not found' }] })
  }
})

test('a segment is kept if a draft with it commits while the deletion waits', async () => {
  const { id } = await createTestSegment()
  const { listId } = await createTestCampaign(ctx)
  const input = CampaignInput.parse({ name: 'a', subject: 'a', listId, segmentId: id })
  const creating = await openTransaction(ctx.db, (db) => createCampaign({ ...ctx, db }, input))
  const deleted = deleteSegment(ctx, id).catch((error: unknown) => error)
  await waitUntilBlocked(database.db)
  await creating.commit()
  expect(await deleted).toMatchObject({ code: 'in_use' })
})

test('a segment is kept if a campaign with it is retried while the deletion waits', async () => {
  const { id } = await createTestSegment()
  const campaignId = await createCampaignIn('SENT', id)
  const retrying = await openTransaction(ctx.db, (db) =>
    db.update(campaigns).set({ status: 'SENDING' }).where(eq(campaigns.id, campaignId)),
  )
  const deleted = deleteSegment(ctx, id).catch((error: unknown) => error)
  await waitUntilBlocked(database.db)
  await retrying.commit()
  expect(await deleted).toMatchObject({ code: 'in_use' })
  expect(await readCampaign(ctx, campaignId)).toMatchObject({ status: 'SENDING', segmentId: id })
})

test('a segment still finds an option that its field no longer has', async () => {
  const { id: fieldId } = await defineField('plan', 'SELECT', ['free', 'trial'])
  await createTestContact(ctx, { firstName: 'Ada', customFieldValues: { plan: 'trial' } })
  const filter: Filter = { field: 'customFieldValues.plan', eq: 'trial' }
  const { id } = await createTestSegment(filter)
  await updateCustomField(ctx, fieldId, { options: ['free'] })
  expect(await listPeople(id)).toEqual(['Ada'])
  await expect(previewFilter(ctx, filter)).rejects.toMatchObject({ issues: [{ path: 'filter.eq' }] })
})

test('a segment of a deleted list, draft, pipeline or company says so', async () => {
  await createTestContact(ctx)
  const list = (await createTestList(ctx)).id
  const campaign = (await createTestCampaign(ctx)).id
  const pipelineId = (await createTestPipeline(ctx)).id
  const company = (await createTestCompany(ctx)).id
  const broken = [
    { filter: { list }, path: 'filter.list', what: 'List', remove: () => deleteList(ctx, list) },
    {
      filter: { not: { campaign, did: 'open' } },
      path: 'filter.not.campaign',
      what: 'Campaign',
      remove: () => deleteCampaign(ctx, campaign),
    },
    {
      filter: { all: [{ deal: { pipelineId } }] },
      path: 'filter.all.0.deal.pipelineId',
      what: 'Pipeline',
      remove: () => deletePipeline(ctx, pipelineId),
    },
    {
      filter: { any: [{ company: { id: company } }] },
      path: 'filter.any.0.company.id',
      what: 'Company',
      remove: () => deleteCompany(ctx, company),
    },
  ]
  for (const { filter, path, what, remove } of broken) {
    const { id } = await createTestSegment(filter, 'Broken')
    await listPeople(id)
    await remove()
    await expect(listPeople(id)).rejects.toMatchObject({
      code: 'wrong_state',
      message: `The segment "Broken" must be changed before it can be used: ${path}: ${what} not found`,
      issues: [{ path, message: `${what} not found` }],
    })
    await updateSegment(ctx, id, { filter: anyone })
    expect(await listPeople(id)).toHaveLength(1)
  }
})

test('a segment of a custom field that was deleted, or has another type since, says so', async () => {
  const { id: fieldId } = await defineField('seats', 'NUMBER')
  await createTestContact(ctx, { firstName: 'Ada', customFieldValues: { seats: 10 } })
  const { id } = await createTestSegment({ any: [{ not: { field: 'customFieldValues.seats', gte: 10 } }] }, 'Big')
  const expectBroken = (path: string, message: string) =>
    expect(listPeople(id)).rejects.toMatchObject({
      code: 'wrong_state',
      message: `The segment "Big" must be changed before it can be used: ${path}: ${message}`,
      issues: [{ path, message }],
    })
  await deleteCustomField(ctx, fieldId)
  await expectBroken('filter.any.0.not.field', 'unknown field "customFieldValues.seats"')
  while (await clearNextBatch(ctx, fieldId));
  await defineField('seats', 'TEXT')
  await expectBroken(
    'filter.any.0.not.gte',
    'does not fit customFieldValues.seats: use eq, ne, in, isSet, contains, startsWith',
  )
})

test('a filter that takes too long ends with its statement, also in a transaction', async () => {
  const sleep = (ctx: Ctx) => ctx.db.execute(sql`select pg_sleep(600) as segment_test`)
  const isUnavailable = { code: 'unavailable', message: expect.stringContaining('takes longer than five seconds') }
  await expect(withinFilterTime(ctx, sleep, 50)).rejects.toMatchObject(isUnavailable)
  // An idempotent request opens the transaction before.
  const inTransaction = transaction(ctx.db, (db) => withinFilterTime({ ...ctx, db }, sleep, 50))
  await expect(inTransaction).rejects.toMatchObject(isUnavailable)
  const running = await ctx.db.execute(sql`
    select from pg_stat_activity where state = 'active' and query like '%segment_test%' and pid <> pg_backend_pid()`)
  expect(running.rows).toEqual([])
  expect((await ctx.db.execute(sql`show statement_timeout`)).rows).not.toEqual([{ statement_timeout: '50ms' }])
})

test('a workspace with segments and campaigns is deleted', async () => {
  const { id } = await createTestSegment()
  await createCampaignIn('DRAFT', id)
  await createCampaignIn('SENT', id)
  await deleteWorkspace(ctx, { name: 'Analytical Engines' })
  for (let more = true; more; ) more = await clearDeletedWorkspace(ctx, uuidOf(ctx.workspaceId))
  expect(await ctx.db.$count(segments, eq(segments.id, id))).toBe(0)
  expect(await ctx.db.$count(workspaces, eq(workspaces.id, ctx.workspaceId))).toBe(0)
})
