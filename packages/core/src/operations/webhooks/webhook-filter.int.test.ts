/** Which filters a webhook can have, and which events it gets then. */
import { and, asc, eq } from 'drizzle-orm'
import { beforeEach, describe, expect, test } from 'vitest'
import { createContact } from '../../contacts/create-contact.ts'
import { NewContact } from '../../contacts/contacts.schema.ts'
import { updateContact } from '../../contacts/update-contact.ts'
import { createCustomField } from '../../custom-fields/custom-fields.ts'
import { deliveries, events } from '../../db/schema/index.ts'
import { updateDeal } from '../../deals/update-deal.ts'
import { emitMany } from '../../events/emit.ts'
import type { AppError } from '../../kernel/errors.ts'
import { updateTask } from '../../tasks/tasks.ts'
import { redeliver, testWebhook } from '../../webhooks/delivery-log.ts'
import { listWebhooks, readWebhook } from '../../webhooks/webhooks.ts'
import { WebhookInput, WebhookQuery } from '../../webhooks/webhooks.schema.ts'
import {
  createTestContact,
  createTestCtx,
  createTestDeal,
  createTestPipeline,
  createTestTask,
  createTestWebhook,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { campaignSent } from '../../campaigns/campaign-events.ts'
import type { CampaignSummary } from '../../campaigns/campaigns.schema.ts'
import { deleteCustomField } from './delete-custom-field.ts'
import { createWebhook, updateWebhook } from './save-webhook.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

const createField = () => createCustomField(ctx, { key: 'plan', label: 'Plan', type: 'TEXT', options: [] })
beforeEach(createField)

const parse = (eventTypes: string[], filter: unknown) =>
  WebhookInput.parse({ url: 'https://example.com/hook', eventTypes, filter })
const create = (eventTypes: string[], filter: unknown) => createWebhook(ctx, parse(eventTypes, filter))

/** The types of the events that a webhook gets, oldest first. */
async function deliveredTo({ id }: { id: string }): Promise<string[]> {
  const rows = await ctx.db
    .select({ type: deliveries.eventType, webhookId: deliveries.webhookId })
    .from(deliveries)
    .where(eq(deliveries.workspaceId, ctx.workspaceId))
    .orderBy(asc(deliveries.id))
  return rows.filter(({ webhookId }) => webhookId === id).map(({ type }) => type)
}

test.each([
  [{ changed: ['email'] }, 1],
  [{ changed: ['phone', 'email'] }, 1],
  [{ changed: ['phone'] }, 0],
  [{ changed: ['customFieldValues.plan'] }, 1],
  [{ changed: ['customFieldValues'] }, 1],
  [{ changed: ['email'], company: { eq: 'AE' } }, 1],
  [{ changed: ['email'], company: { eq: 'ae' } }, 0],
  [{ changed: ['email'], company: { in: ['BE', 'AE'] }, source: { eq: null } }, 1],
  [{ company: { in: ['BE', null] } }, 0],
  [{ email: { eq: 'ada@example.org' } }, 1],
])('an update of a contact is delivered if all conditions of %j hold', async (filter, count) => {
  const contact = await createTestContact(ctx, { email: 'ada@example.com', company: 'AE' })
  const webhook = await create(['contact.updated'], filter)
  await updateContact(ctx, contact.id, { email: 'ada@example.org', customFieldValues: { plan: 'pro' } })
  expect((await deliveredTo(webhook)).length).toBe(count)
})

test('created and concurrently created records are filtered by their values', async () => {
  const shop = await create(['contact.created'], { source: { eq: 'shop' } })
  const other = await create(['contact.created'], { source: { eq: null } })
  const inputs = Array.from({ length: 20 }, (_, n) => ({
    email: `${n}@example.com`,
    source: n % 4 === 0 ? 'shop' : null,
  }))
  await Promise.all(inputs.map((input) => createContact(ctx, NewContact.parse(input))))
  expect([(await deliveredTo(shop)).length, (await deliveredTo(other)).length]).toEqual([5, 15])
})

test('a filter applies to every type of the webhook', async () => {
  const { id: contactId } = await createTestContact(ctx)
  const deal = await createTestDeal(ctx, { contactId })
  const task = await createTestTask(ctx, { contactId })
  const webhook = await create(['deal.updated', 'deal.won', 'deal.lost', 'task.completed'], {
    status: { in: ['WON', 'DONE'] },
  })
  await updateDeal(ctx, deal.id, { name: 'x' })
  await updateDeal(ctx, deal.id, { status: 'LOST' })
  await updateDeal(ctx, deal.id, { status: 'WON', valueCents: 5 })
  await updateTask(ctx, task.id, { status: 'DONE' })
  expect(await deliveredTo(webhook)).toEqual(['deal.updated', 'deal.won', 'task.completed'])
})

test('a filter on the stage matches a deal that moves only with another change', async () => {
  const { id: pipelineId, stages } = await createTestPipeline(ctx)
  const deal = await createTestDeal(ctx, { pipelineId })
  const webhook = await create(['deal.updated'], { changed: ['stageId'] })
  await updateDeal(ctx, deal.id, { stageId: stages[1]?.id })
  expect(await deliveredTo(webhook)).toEqual([])
  await updateDeal(ctx, deal.id, { stageId: stages[0]?.id, name: 'x' })
  expect(await deliveredTo(webhook)).toEqual(['deal.updated'])
})

test('a change whose `changes` are too large is still known to a filter', async () => {
  const { id: contactId } = await createTestContact(ctx)
  const task = await createTestTask(ctx, { contactId })
  const webhook = await create(['task.updated'], { changed: ['notes'] })
  await updateTask(ctx, task.id, { notes: 'a'.repeat(16_000) })
  await updateTask(ctx, task.id, { notes: 'b'.repeat(16_000) })
  expect(await deliveredTo(webhook)).toEqual(['task.updated', 'task.updated'])
})

test('a text that jsonb cannot have does not make an event fail', async () => {
  const webhook = await create(['campaign.sent'], { status: { eq: 'SENT' } })
  const data = { ...(campaignSent.example as CampaignSummary), name: 'a\ud83d', subject: 'x'.repeat(5_000) }
  await emitMany(ctx, campaignSent, [data])
  expect(await deliveredTo(webhook)).toEqual(['campaign.sent'])
})

test('redeliveries and test events ignore the filter', async () => {
  const webhook = await create(['contact.updated'], { changed: ['email'] })
  const { id } = await createTestContact(ctx, { email: 'ada@example.com' })
  await testWebhook(ctx, webhook.id)
  await updateContact(ctx, id, { email: 'ada@example.org' })
  expect(await deliveredTo(webhook)).toEqual(['webhook.test', 'contact.updated'])
  await ctx.db.update(deliveries).set({ status: 'FAILED' }).where(eq(deliveries.workspaceId, ctx.workspaceId))
  await updateWebhook(ctx, webhook.id, { filter: { changed: ['phone'] } })
  const [delivery] = await ctx.db
    .select()
    .from(deliveries)
    .where(and(eq(deliveries.workspaceId, ctx.workspaceId), eq(deliveries.eventType, 'contact.updated')))
  if (delivery) await redeliver(ctx, webhook.id, delivery.id)
  expect((await deliveredTo(webhook)).length).toBe(3)
})

test('a changed or cleared filter applies from the next event on', async () => {
  const webhook = await create(['contact.created'], { source: { eq: 'shop' } })
  const createFrom = (source: string) => createTestContact(ctx, { email: `${source}@example.com`, source })
  await createFrom('other')
  await updateWebhook(ctx, webhook.id, { filter: { source: { eq: 'web' } } })
  await createFrom('shop')
  await createFrom('web')
  const { filter } = await updateWebhook(ctx, webhook.id, { filter: null })
  await createFrom('any')
  expect([filter, (await deliveredTo(webhook)).length]).toEqual([null, 2])
})

test('a filter of one workspace does not affect another', async () => {
  const other = await createTestCtx(database.db)
  await createTestWebhook(other, { filter: { source: { eq: 'shop' } } })
  const webhook = await createTestWebhook(ctx)
  await createTestContact(ctx)
  await createTestContact(other, { source: 'shop' })
  const rows = await ctx.db
    .select({ webhookId: deliveries.webhookId })
    .from(deliveries)
    .where(eq(deliveries.workspaceId, ctx.workspaceId))
  expect(rows).toEqual([{ webhookId: webhook.id }])
})

const scalar = /^is no string, number or boolean in the data of every event type of the webhook$/
const change = /^is no field of `changes` in every event type of the webhook$/
const refused: [string[], unknown, string, RegExp][] = [
  [
    ['*'],
    { status: { eq: 'WON' } },
    'filter',
    /not possible with "\*"; name the event types, such as "contact.updated"/,
  ],
  [['contact.created', '*'], { source: { eq: 'x' } }, 'filter', /not possible with "\*"/],
  [['contact.created'], {}, 'filter', /^must have a condition; null stands for no filter$/],
  [['contact.created'], { sorce: { eq: 'x' } }, 'filter.sorce', /webhook \(did you mean "source"\?\)$/],
  [['contact.created', 'deal.won'], { source: { eq: 'x' } }, 'filter.source', scalar],
  [['contact.created'], { tags: { eq: 'x' } }, 'filter.tags', scalar],
  [['contact.created'], { customFieldValues: { eq: 'x' } }, 'filter.customFieldValues', scalar],
  [['contact.updated'], { changes: { eq: null } }, 'filter.changes', scalar],
  [['contact.created'], { constructor: { eq: 'x' } }, 'filter.constructor', scalar],
  [
    ['deal.won'],
    { status: { eq: 'WONN' } },
    'filter.status.eq',
    /must be one of OPEN, WON, LOST \(did you mean "WON"\?\)/,
  ],
  [['deal.won'], { valueCents: { in: [1, '2'] } }, 'filter.valueCents.in.1', /^must be a number$/],
  [['deal.won'], { contactId: { eq: null } }, 'filter.contactId.eq', /must be|is required|a string/],
  [['contact.created'], { changed: ['email'] }, 'filter.changed', /not with "contact.created"/],
  [['contact.updated', 'deal.won'], { changed: ['email'] }, 'filter.changed', /not with "deal.won"/],
  [['contact.updated'], { changed: ['mail', 'emial'] }, 'filter.changed.1', /webhook \(did you mean "email"\?\)$/],
  [['contact.updated'], { changed: ['updatedAt'] }, 'filter.changed.0', change],
  [['contact.updated'], { changed: ['lastActivityAt'] }, 'filter.changed.0', change],
  [['contact.updated', 'deal.updated'], { changed: ['email'] }, 'filter.changed.0', change],
  [
    ['contact.updated'],
    { changed: ['customFieldValues.plam'] },
    'filter.changed.0',
    /^unknown custom field \(did you mean "customFieldValues.plan"\?\)$/,
  ],
  [['task.updated'], { changed: ['customFieldValues.plan'] }, 'filter.changed.0', change],
  [['deal.updated'], { changed: ['customFieldValues.plan'] }, 'filter.changed.0', /^unknown custom field/],
  [
    ['contact.created'],
    { source: { in: Array.from({ length: 50 }, () => 'x'.repeat(100)) } },
    'filter',
    /^must have at most 4 KiB$/,
  ],
]
test.each(refused)('%j with the filter %j is refused at %s', async (...[types, filter, path, message]) => {
  const error: unknown = await create(types, filter).catch((error: unknown) => error)
  const { code, issues = [] } = error as AppError
  expect([code, issues.find((issue) => issue.path === path)?.message]).toEqual([
    'validation_error',
    expect.stringMatching(message),
  ])
})

test('a filter has at most ten conditions', async () => {
  const names = [
    'email',
    'firstName',
    'lastName',
    'phone',
    'company',
    'source',
    'createdAt',
    'externalId',
    'locale',
    'id',
  ]
  const filter = Object.fromEntries(names.map((name) => [name, { eq: null }]))
  await expect(create(['contact.updated'], { ...filter, changed: ['email'] })).rejects.toThrow(
    'filter: must have at most 10',
  )
})

test('other event types are refused if the filter does not fit them', async () => {
  const { id } = await create(['contact.created'], { source: { eq: 'x' } })
  await expect(updateWebhook(ctx, id, { eventTypes: ['deal.won'] })).rejects.toThrow('filter.source: is no string')
  await expect(updateWebhook(ctx, id, { eventTypes: ['*'] })).rejects.toThrow('filter: is not possible with "*"')
  await updateWebhook(ctx, id, { eventTypes: ['deal.won'], filter: { status: { eq: 'WON' } } })
  expect(await readWebhook(ctx, id)).toMatchObject({ eventTypes: ['deal.won'], filter: { status: { eq: 'WON' } } })
})

describe('a deleted custom field', () => {
  const filter = { changed: ['email', 'customFieldValues.plan'] }
  const remove = async (id: Awaited<ReturnType<typeof createField>>['id']) => deleteCustomField(ctx, id)
  async function createOther() {
    return createCustomField(ctx, { key: 'other', label: 'Other', type: 'TEXT', options: [] })
  }

  test('disables the webhooks whose filter names it, with a reason and an event', async () => {
    const field = await createOther()
    const named = await create(['contact.updated'], { changed: ['customFieldValues.other', 'email'] })
    const kept = await create(['contact.updated'], filter)
    const listening = await createTestWebhook(ctx, { eventTypes: ['webhook.disabled'] })
    await remove(field.id)
    expect(await readWebhook(ctx, named.id)).toMatchObject({
      enabled: false,
      disabledReason: 'The custom field "other" of its filter was deleted',
    })
    expect((await readWebhook(ctx, kept.id)).enabled).toBe(true)
    expect(await deliveredTo(listening)).toEqual(['webhook.disabled'])
    await expect(updateWebhook(ctx, named.id, { enabled: true })).rejects.toThrow(
      'filter.changed.0: unknown custom field',
    )
    await updateWebhook(ctx, named.id, { url: 'https://example.com/other' })
    const enabled = await updateWebhook(ctx, named.id, { enabled: true, filter: { changed: ['email'] } })
    expect(enabled).toMatchObject({ enabled: true, disabledReason: null })
  })

  test('waits for a webhook that is being created with it, and disables that too', async () => {
    const field = await createOther()
    const input = parse(['contact.updated'], { changed: ['customFieldValues.other'] })
    const creating = await openTransaction(ctx.db, (db) => createWebhook({ ...ctx, db }, input))
    const deleting = remove(field.id)
    await waitUntilBlocked(database.db)
    await creating.commit()
    await deleting
    const { data } = await listWebhooks(ctx, WebhookQuery.parse({}))
    expect(data.map(({ enabled }) => enabled)).toEqual([false])
  })
})

test('events that no webhook gets are in the feed', async () => {
  await create(['contact.created'], { source: { eq: 'shop' } })
  await createTestContact(ctx)
  expect(await ctx.db.$count(events, eq(events.workspaceId, ctx.workspaceId))).toBe(1)
})
