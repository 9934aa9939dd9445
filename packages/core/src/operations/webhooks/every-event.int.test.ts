/** Every change emits its events, whatever causes it: the API, a visitor, an import or a worker. */
import { asc, eq, sql } from 'drizzle-orm'
import { beforeEach, expect, test } from 'vitest'
import { cancelCampaign } from '../../campaigns/lifecycle.ts'
import { sendCampaign } from '../../campaigns/send-campaign.ts'
import { finishBatch } from '../../campaigns/sending.ts'
import type { Contact } from '../../contacts/contacts.schema.ts'
import { addTags, updateContact } from '../../contacts/update-contact.ts'
import { findOrCreateContact, upsertContact } from '../../contacts/upsert-contact.ts'
import { deleteDeal, updateDeal } from '../../deals/update-deal.ts'
import type { Deal } from '../../deals/deals.schema.ts'
import { deals, events } from '../../db/schema/index.ts'
import { eventTypes } from '../../events/event-definition.ts'
import { submitForm } from '../../forms/submissions.ts'
import { type ListId, type NoteId, type TaskId, uuidOf } from '../../kernel/ids.ts'
import { clearDeletedList, deleteList } from '../../lists/delete-list.ts'
import { confirmSubscription, subscribe } from '../../lists/subscribe.ts'
import { addSubscriber, removeSubscriber } from '../../lists/subscribers.ts'
import { unsubscribeUrl } from '../../lists/subscription-links.ts'
import { deleteNote, updateNote } from '../../notes/notes.ts'
import { deletePipeline } from '../../pipelines/pipelines.ts'
import { deleteTask, updateTask } from '../../tasks/tasks.ts'
import { removeMember } from '../../team/members.ts'
import { emailCases, prepareEmailEvent } from '@rapport/testing/consent/test-emails.ts'
import { prepareDomainCheck } from '@rapport/testing/network/sending-domains.ts'
import { prepareWithheld } from '@rapport/testing/consent/visitor-mails.ts'
import { readEventCounts } from '@rapport/testing/fixtures/event-counts.ts'
import { claimTestBatch, sendTestBatch, startTestCampaign } from '@rapport/testing/fixtures/campaign-work.ts'
import { companyChanges } from '@rapport/testing/fixtures/company-changes.ts'
import {
  createTestCampaign,
  createTestContact,
  createTestDeal,
  createTestForm,
  createTestList,
  createTestMember,
  createTestNote,
  createTestTask,
  createTestWebhook,
  createTestWorker,
  readMailedToken,
} from '@rapport/testing/fixtures/factories.ts'
import { runTestImport } from '@rapport/testing/fixtures/imports.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { createFailingPeriod, setHealth } from '@rapport/testing/fixtures/webhook-health.ts'
import { deleteContact } from '../contacts/delete-contact.ts'
import { reportByClient } from '@rapport/testing/fixtures/mail-reports.ts'
import { mergeContacts } from '../contacts/merge-contacts.ts'
import { setTrackingConsent } from '../contacts/tracking-consent.ts'
import { unsubscribe } from '../contacts/unsubscribe.ts'
import { disableFailingWebhooks } from './webhook-health.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

/** With a deal, a task and a note, CONFIRMED on a list. */
let ada: Contact
let deal: Deal
let task: { id: TaskId; title: string }
let note: { id: NoteId }
let list: { id: ListId }
beforeEach(async () => {
  ada = await createTestContact(ctx, { email: 'ada@example.com' })
  deal = await createTestDeal(ctx, { contactId: ada.id })
  task = await createTestTask(ctx, { contactId: ada.id })
  note = await createTestNote(ctx, { contactId: ada.id })
  list = await createTestList(ctx)
  await addSubscriber(ctx, list.id, { contactId: ada.id, status: 'CONFIRMED' })
})

const readEvents = () =>
  ctx.db.select().from(events).where(eq(events.workspaceId, ctx.workspaceId)).orderBy(asc(events.id))

const countEvents = async () => Object.values(await readEventCounts(database.db)).reduce((sum, count) => sum + count, 0)

type Change = () => Promise<unknown>
type Case = [name: string, emitted: string[], prepare: () => Change | Promise<Change>]

const visitor = (email: string) => ({ email, firstName: '', lastName: '' })
const tokenOf = () =>
  new URL(unsubscribeUrl(ctx, { listId: list.id, contactId: ada.id, email: ada.email })).searchParams.get('token') ?? ''
const addAda = () => addSubscriber(ctx, list.id, { contactId: ada.id, status: 'CONFIRMED' })
const report = (input: object) => reportByClient(ctx, { email: ada.email, ...input })
const askToJoin = () => subscribe(ctx, list.id, visitor('b@example.com'))
const completeTask = () => updateTask(ctx, task.id, { status: 'DONE', notes: 'x' })
const goneWithAda = ['note.deleted', 'deal.deleted', 'task.deleted', 'contact.deleted']
const movedWithAda = ['note.updated', 'deal.updated', 'task.updated', 'contact.merged']

const cases: Case[] = [
  ['creating a contact', ['contact.created'], () => () => createTestContact(ctx)],
  ['creating a contact by upsert', ['contact.created'], () => () => upsertContact(ctx, { email: 'b@example.com' })],
  ...companyChanges(ctx),
  ['updating a contact', ['contact.updated'], () => () => updateContact(ctx, ada.id, { firstName: 'Ada' })],
  ['updating by upsert', ['contact.updated'], () => () => upsertContact(ctx, { email: ada.email, company: 'AE' })],
  ['adding a tag', ['contact.updated'], () => () => addTags(ctx, ada.id, { tags: ['vip'] })],
  ['a visitor who fills a property', ['contact.updated'], () => () => findOrCreateContact(ctx, { ...ada, phone: '1' })],
  ['deleting a contact', goneWithAda, () => () => deleteContact(ctx, ada.id)],
  ['merging a contact', movedWithAda, moveAda],
  ['merging an opt-out', [...movedWithAda.slice(0, -1), 'subscription.unsubscribed', 'contact.merged'], mergeOptOut],
  ['changing to an address that opted out', ['subscription.unsubscribed', 'contact.updated'], takeOptedOutAddress],
  ['submitting a form', ['contact.updated', 'form.submitted'], submitTestForm],
  ['asking for a subscription', ['contact.created', 'subscription.created'], () => askToJoin],
  [
    'subscribing without double opt-in',
    ['contact.created', 'subscription.created', 'subscription.confirmed'],
    subscribeDirectly,
  ],
  ['confirming by link', ['subscription.confirmed'], confirmByLink],
  ['unsubscribing by link', ['subscription.unsubscribed'], () => () => unsubscribe(ctx, tokenOf())],
  ['denying tracking', ['tracking_consent.changed'], () => () => setTrackingConsent(ctx, ada.id, { opens: 'DENIED' })],
  ['removing a subscriber', ['subscription.unsubscribed'], () => () => removeSubscriber(ctx, list.id, ada.id)],
  ['adding a removed subscriber', ['subscription.created', 'subscription.confirmed'], addRemoved],
  ['withholding a confirmation', ['confirmations.withheld'], () => prepareWithheld(ctx, list.id)],
  ['deleting a list', ['list.deleted'], () => () => deleteList(ctx, list.id)],
  ['clearing a deleted list', [], clearList],
  ['creating a deal', ['deal.created'], () => () => createTestDeal(ctx, { contactId: ada.id })],
  ['updating a deal', ['deal.updated'], () => () => updateDeal(ctx, deal.id, { valueCents: 5 })],
  ['moving a deal to another contact', ['deal.updated'], moveDealToOther],
  ['moving a deal to another pipeline', ['deal.stage_changed'], moveDealToPipeline],
  ['winning a deal', ['deal.won'], () => () => updateDeal(ctx, deal.id, { status: 'WON' })],
  [
    'losing and updating a deal',
    ['deal.updated', 'deal.lost'],
    () => () => updateDeal(ctx, deal.id, { status: 'LOST', name: 'x' }),
  ],
  ['deleting a deal', ['deal.deleted'], () => () => deleteDeal(ctx, deal.id)],
  ['failing to delete a pipeline with deals', [], () => () => deletePipeline(ctx, deal.pipelineId).catch(() => {})],
  ['creating a task', ['task.created'], () => () => createTestTask(ctx, { contactId: ada.id })],
  ['updating a task', ['task.updated'], () => () => updateTask(ctx, task.id, { title: 'Write' })],
  ['completing a task', ['task.completed'], () => () => updateTask(ctx, task.id, { status: 'DONE' })],
  ['completing and updating a task', ['task.updated', 'task.completed'], () => completeTask],
  ['deleting a task', ['task.deleted'], () => () => deleteTask(ctx, task.id)],
  ['creating a note', ['note.created'], () => () => createTestNote(ctx, { contactId: ada.id })],
  ['updating a note', ['note.updated'], () => () => updateNote(ctx, note.id, { body: 'Called back' })],
  ['deleting a note', ['note.deleted'], () => () => deleteNote(ctx, note.id)],
  ['removing a member with a task', ['task.updated'], removeAssignee],
  ['sending a campaign', ['campaign.sending'], sendTestCampaign],
  ['finishing a campaign', ['campaign.sent'], finishTestCampaign],
  ['canceling a campaign', ['campaign.canceled'], cancelTestCampaign],
  ...emailCases.map(([event, emitted]): Case => [event, emitted, () => prepareEmailEvent(ctx, ada, event)]),
  ['an import', ['import.completed'], () => () => runTestImport(ctx, 'email\nb@example.com')],
  [
    'an import with an event for each contact',
    ['contact.created', 'import.completed'],
    () => () => runTestImport(ctx, 'email\nb@example.com', { events: 'each' }),
  ],
  [
    'an import that updates and subscribes, with an event for each change',
    ['contact.created', 'contact.updated', 'subscription.created', 'subscription.confirmed', 'import.completed'],
    () => () => updateByImport({ events: 'each' }),
  ],
  ['an import that updates and subscribes', ['import.completed'], () => () => updateByImport({})],
  ['a bounce', ['subscription.unsubscribed', 'mail.bounced'], () => () => report({ type: 'BOUNCE', permanent: true })],
  ['a complaint', ['subscription.unsubscribed', 'mail.complained'], () => () => report({ type: 'COMPLAINT' })],
  ['finding the record of a domain', ['domain.verified'], () => prepareDomainCheck(ctx, 'PENDING', 'VERIFIED')],
  ['losing the record of a domain', ['domain.failed'], () => prepareDomainCheck(ctx, 'VERIFIED', 'PENDING')],
  ['disabling a failing webhook', ['webhook.disabled'], disableWebhook],
]

test.each(cases)('every change emits its events: %s', async (_name, emitted, prepare) => {
  const change = await prepare()
  const before = (await readEvents()).length
  const countedBefore = await countEvents()
  await change()
  const types = (await readEvents()).slice(before).map(({ type }) => type)
  expect([types, (await countEvents()) - countedBefore]).toEqual([emitted, emitted.length])
})

test('these changes cover every event type', () => {
  expect([...new Set(cases.flatMap(([, emitted]) => emitted))].toSorted()).toEqual(eventTypes.toSorted())
})

const noops: [string, Change][] = [
  ['a contact', () => updateContact(ctx, ada.id, { email: ada.email })],
  ['a deal', () => updateDeal(ctx, deal.id, { status: 'OPEN', name: deal.name })],
  ['a task', () => updateTask(ctx, task.id, { status: 'OPEN', title: task.title })],
  ['a subscription', () => addAda()],
]
test.each(noops)('a no-op update of %s emits no event', async (_name, change) => {
  const before = await readEvents()
  await change()
  expect(await readEvents()).toEqual(before)
})
test.each([
  ['deal.updated', () => moveAda().then((merge) => merge())],
  ['deal.deleted', () => deleteContact(ctx, ada.id)],
] as const)('%s is emitted for each of 450 deals, in one transaction', async (type, change) => {
  await createTestWebhook(ctx, { eventTypes: [type] })
  await ctx.db.execute(sql`
    insert into deals (workspace_id, id, pipeline_id, stage_id, contact_id)
    select workspace_id, uuidv7(), pipeline_id, stage_id, contact_id from deals, generate_series(1, 449)
    where id = ${uuidOf(deal.id)}`)
  await change()
  const emitted = (await readEvents()).filter((event) => event.type === type)
  expect(new Set(emitted.map(({ data }) => (data as Deal).id)).size).toBe(450)
  const contactIds = new Set(emitted.map(({ data }) => (data as Deal).contactId))
  expect([contactIds.size, contactIds.has(ada.id)]).toEqual([1, type === 'deal.deleted'])
  const { rows } = await ctx.db.execute(sql`
    select count(*)::int as deliveries, count(distinct e.transaction_id)::int as transactions
    from deliveries d join events e on e.workspace_id = d.workspace_id and e.id = d.event_id
    where d.workspace_id = ${uuidOf(ctx.workspaceId)}`)
  expect(rows).toEqual([{ deliveries: 450, transactions: 1 }])
  expect(await ctx.db.$count(deals, eq(deals.contactId, ada.id))).toBe(0)
})

async function moveAda(): Promise<Change> {
  const survivor = await createTestContact(ctx)
  return () => mergeContacts(ctx, survivor.id, { contactId: ada.id })
}

async function mergeOptOut(): Promise<Change> {
  const survivor = await createTestContact(ctx)
  await addSubscriber(ctx, list.id, { contactId: survivor.id, status: 'CONFIRMED' })
  await unsubscribe(ctx, tokenOf())
  return () => mergeContacts(ctx, survivor.id, { contactId: ada.id })
}

async function takeOptedOutAddress(): Promise<Change> {
  const other = await createTestContact(ctx)
  await addSubscriber(ctx, list.id, { contactId: other.id, status: 'CONFIRMED' })
  await unsubscribe(ctx, tokenOf())
  await deleteContact(ctx, ada.id)
  return () => updateContact(ctx, other.id, { email: ada.email })
}

async function submitTestForm(): Promise<Change> {
  const form = await createTestForm(ctx)
  return () => submitForm(ctx, form.id, { values: { email: ada.email, phone: '+44 1' } })
}

async function subscribeDirectly(): Promise<Change> {
  const direct = await createTestList(ctx, { doubleOptIn: false })
  return () => addSubscriber(ctx, direct.id, { email: 'b@example.com' })
}

async function confirmByLink(): Promise<Change> {
  await subscribe(ctx, list.id, visitor('b@example.com'))
  const token = await readMailedToken(ctx, 'b@example.com')
  return () => confirmSubscription(ctx, token)
}

function updateByImport(options: { events?: string }) {
  const file = 'email,firstName\nb@example.com,B\nada@example.com,Augusta'
  return runTestImport(ctx, file, { ...options, onConflict: 'update', listId: list.id })
}

async function addRemoved(): Promise<Change> {
  await removeSubscriber(ctx, list.id, ada.id)
  return addAda
}

async function clearList(): Promise<Change> {
  await deleteList(ctx, list.id)
  return async () => {
    while (await clearDeletedList(ctx, uuidOf(list.id)));
  }
}

async function moveDealToOther(): Promise<Change> {
  const other = await createTestContact(ctx)
  return () => updateDeal(ctx, deal.id, { contactId: other.id })
}

async function moveDealToPipeline(): Promise<Change> {
  const { pipelineId } = await createTestDeal(ctx)
  return () => updateDeal(ctx, deal.id, { pipelineId })
}

async function removeAssignee(): Promise<Change> {
  const userId = await createTestMember(ctx)
  await updateTask(ctx, task.id, { assigneeId: userId })
  return () => removeMember(ctx, userId)
}

async function sendTestCampaign(): Promise<Change> {
  const { id } = await createTestCampaign(ctx, { listId: list.id })
  return () => sendCampaign(ctx, id)
}

async function finishTestCampaign(): Promise<Change> {
  const { batches } = await startTestCampaign(ctx, 1)
  const batch = await claimTestBatch(ctx, batches[0], await createTestWorker(ctx.db))
  await sendTestBatch(ctx, batch)
  return () => finishBatch(ctx, batch)
}

async function cancelTestCampaign(): Promise<Change> {
  const { id } = await startTestCampaign(ctx, 1)
  return () => cancelCampaign(ctx, id)
}

async function disableWebhook(): Promise<Change> {
  const webhook = await createTestWebhook(ctx)
  await setHealth(ctx, webhook.id, createFailingPeriod(5 * 24 + 1, 10))
  return async () => {
    for await (const _ of disableFailingWebhooks(ctx));
  }
}
