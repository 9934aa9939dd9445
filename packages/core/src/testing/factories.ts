/** What tests begin with. Made by the real verbs, but for long lists: those are written as rows, in bulk. */
import { randomUUID } from 'node:crypto'
import { desc, eq, sql } from 'drizzle-orm'
import type { z } from 'zod'
import { createWorkspace } from '../auth/workspaces.ts'
import { createCampaign, readCampaign } from '../campaigns/campaigns.ts'
import { type Campaign, CampaignInput } from '../campaigns/campaigns.schema.ts'
import { createContact } from '../contacts/contact-creation.ts'
import { type Contact, ContactInput } from '../contacts/contacts.schema.ts'
import type { BaseCtx, Ctx, Settings } from '../context.ts'
import type { Db } from '../db.ts'
import { createDeal } from '../deals/deal-creation.ts'
import { type Deal, DealInput } from '../deals/deals.schema.ts'
import { createForm } from '../forms/forms.ts'
import { type Form, FormInput } from '../forms/forms.schema.ts'
import { idOf, newId, uuidOf } from '../ids.ts'
import { createList } from '../lists/lists.ts'
import { renderMail } from '../mail/render-mail.ts'
import type { QueueName } from '../queues.ts'
import { createPipeline } from '../pipelines/pipelines.ts'
import type { Pipeline } from '../pipelines/pipelines.schema.ts'
import { type List, ListInput, type Subscription } from '../lists/lists.schema.ts'
import { mails } from '../schema.ts'
import { deriveKeys } from '../secrets.ts'
import { createTask } from '../tasks/tasks.ts'
import { type Task, TaskInput } from '../tasks/tasks.schema.ts'
import { abandonDelivery } from '../webhooks/abandoned-deliveries.ts'
import { claimDeliveries, type ClaimedDelivery } from '../webhooks/deliveries.ts'
import { type DeliveryOutcome, settleDeliveries } from '../webhooks/settlement.ts'
import { createWebhook } from '../webhooks/webhooks.ts'
import type { CreatedWebhook, WebhookInput } from '../webhooks/webhooks.schema.ts'
import { beat } from '../workers.ts'

/** An installation whose webhooks may reach the receivers of tests. */
export const testSettings: Settings = {
  publicUrl: 'https://crm.example.com',
  mailFrom: 'letters@example.com',
  mailFromDomains: [],
  isSignUpOpen: true,
  allowedNetworks: ['127.0.0.0/8', '::1/128'],
  keys: deriveKeys('a secret that is known to every test'),
}

/** The system at work in a new workspace. */
export async function createTestCtx(db: Db, given: { settings?: Partial<Settings> } = {}): Promise<Ctx> {
  const workspace = await createWorkspace(db, 'Analytical Engines')
  return {
    db,
    settings: { ...testSettings, ...given.settings },
    workspaceId: workspace.id,
    actor: { kind: 'system' },
    requestId: randomUUID(),
  }
}

/** With an address of its own unless one is given. */
export function createTestContact(ctx: Ctx, given: Partial<ContactInput> = {}): Promise<Contact> {
  return createContact(ctx, ContactInput.parse({ email: `${randomUUID()}@example.com`, ...given }))
}

/** With `confirmed` subscribers called person-1@example.com and so on. One such list in a workspace. */
export async function createTestList(ctx: Ctx, given: Partial<ListInput> & { confirmed?: number } = {}): Promise<List> {
  const { confirmed = 0, ...input } = given
  const list = await createList(ctx, ListInput.parse({ name: 'Monthly letter', ...input }))
  if (confirmed > 0) await addSubscribers(ctx, list.id, { count: confirmed })
  return list
}

/** New contacts `<name>-1@example.com` and so on, with a subscription each. Answers their ids, in order. */
export async function addSubscribers(
  ctx: Ctx,
  listId: string,
  given: { count: number; status?: Subscription['status']; name?: string },
): Promise<string[]> {
  const { count, status = 'CONFIRMED', name = 'person' } = given
  const ids = Array.from({ length: count }, () => newId('con'))
  const workspaceId = sql`${uuidOf(ctx.workspaceId)}::uuid`
  await ctx.db.execute(sql`
    with person as (
      insert into contacts (workspace_id, id, email, first_name, email_subscribed_status)
      select ${workspaceId}, id, ${name}::text || '-' || n || '@example.com', initcap(${name}::text),
        ${status === 'CONFIRMED' ? 'SUBSCRIBED' : status}
      from unnest(${sql.param(ids.map(uuidOf))}::uuid[]) with ordinality as given (id, n)
      returning id)
    insert into subscriptions (workspace_id, list_id, contact_id, status, confirmed_at, unsubscribed_at)
    select ${workspaceId}, ${uuidOf(listId)}::uuid, id, ${status}::text,
      case when ${status}::text = 'CONFIRMED' then now() end, case when ${status}::text = 'UNSUBSCRIBED' then now() end
    from person`)
  return ids
}

/** A DRAFT to a new list with `confirmed` subscribers, unless `listId` names one. */
export async function createTestCampaign(
  ctx: Ctx,
  given: Partial<CampaignInput> & { confirmed?: number } = {},
): Promise<Campaign> {
  const { confirmed = 0, ...input } = given
  const listId = input.listId ?? (await createTestList(ctx, { confirmed })).id
  const { id } = await createCampaign(
    ctx,
    CampaignInput.parse({ name: 'November', subject: 'News for {{ contact.firstName }}', ...input, listId }),
  )
  return readCampaign(ctx, id)
}

/** With a stage for each name, of 10, 20 … per cent. */
export function createTestPipeline(ctx: Ctx, stages: readonly string[] = ['Lead', 'Offer']): Promise<Pipeline> {
  return createPipeline(ctx, {
    name: 'Sales',
    stages: stages.map((name, position) => ({ name, winProbability: 10 * (position + 1) })),
  })
}

/** In a new pipeline and on a new contact, unless told otherwise. */
export async function createTestDeal(ctx: Ctx, given: Partial<DealInput> = {}): Promise<Deal> {
  const pipelineId = given.pipelineId ?? (await createTestPipeline(ctx)).id
  const contactId = given.contactId ?? (await createTestContact(ctx)).id
  return createDeal(ctx, DealInput.parse({ ...given, pipelineId, contactId }))
}

/** On a new contact, unless told otherwise. */
export async function createTestTask(
  ctx: Ctx,
  given: Partial<Record<keyof TaskInput | 'contactId', string>> = {},
): Promise<Task> {
  const { contactId = (await createTestContact(ctx)).id, ...input } = given
  return createTask(ctx, contactId, TaskInput.parse({ title: 'Call', ...input }))
}

/** With a field for each property of a contact, a message and a consent. */
export function createTestForm(ctx: Ctx, given: Partial<z.input<typeof FormInput>> = {}): Promise<Form> {
  return createForm(ctx, FormInput.parse({ name: 'Contact us', fields: testFormFields, ...given }))
}
export const testFormFields: z.input<typeof FormInput>['fields'] = [
  { id: 'email', label: 'Email', type: 'EMAIL', mapsTo: 'email' },
  { id: 'first', label: 'First name', type: 'TEXT', mapsTo: 'firstName' },
  { id: 'phone', label: 'Phone', type: 'PHONE', mapsTo: 'phone' },
  { id: 'company', label: 'Company', type: 'TEXT', mapsTo: 'company' },
  { id: 'message', label: 'Message', type: 'TEXTAREA' },
  { id: 'news', label: 'Send me the letter', type: 'CONSENT' },
]

/** For `contact.created` unless told otherwise. */
export function createTestWebhook(ctx: Ctx, given: Partial<WebhookInput> = {}): Promise<CreatedWebhook> {
  return createWebhook(ctx, { url: 'https://example.com/hook', eventTypes: ['contact.created'], ...given })
}

/** A worker that has shown that it lives. Answers its id. */
export async function createTestWorker(db: Db): Promise<string> {
  const workerId = randomUUID()
  await beat(db, workerId)
  return workerId
}

/** Takes one delivery in hand, as its job does. */
export async function claimDelivery(ctx: Ctx, uuid: string, workerId: string): Promise<ClaimedDelivery | undefined> {
  const job = { id: uuid, workspaceId: ctx.workspaceId }
  const [delivery] = await claimDeliveries(ctx.db, workerId, [job])
  if (!delivery) await abandonDelivery(ctx.db, job)
  return delivery
}

/** Records how the attempt ended, as its job does. */
export async function settleDelivery(
  ctx: Ctx,
  { uuid, workerId }: { uuid: string; workerId: string },
  outcome: DeliveryOutcome,
): Promise<void> {
  const ended = [{ id: uuid, workspaceId: ctx.workspaceId, outcome, goesOn: false, isQuick: false }]
  await settleDeliveries(ctx.db, workerId, { ended, inHand: [] })
}

/** As if nobody had heard of the worker for a long while. */
export async function silenceWorker(db: Db, workerId: string): Promise<void> {
  await db.execute(sql`update workers set seen_at = now() - interval '1 hour' where id = ${workerId}`)
}

/** What is still to be done for the workspace, on one queue or on all: UUIDs of the subjects, oldest first. */
export async function waitingWork(ctx: Ctx, queue?: QueueName): Promise<string[]> {
  const result = await ctx.db.execute<{ id: string }>(sql`
    select id from outbox where workspace_id = ${uuidOf(ctx.workspaceId)}
      and queue = coalesce(${queue ?? null}, queue) order by created_at, id`)
  return result.rows.map((row) => row.id)
}

/** The types of the workspace's events, oldest first. */
export async function eventsOf(ctx: Ctx): Promise<string[]> {
  const result = await ctx.db.execute<{ type: string }>(sql`
    select type from events where workspace_id = ${uuidOf(ctx.workspaceId)} order by created_at, id`)
  return result.rows.map((row) => row.type)
}

/** How many of a campaign's recipients are in each status. Who has no row yet is in none. */
export async function countRecipients(ctx: Ctx, campaignId: string): Promise<Record<string, number>> {
  const result = await ctx.db.execute<{ status: string; count: number }>(sql`
    select status, count(*)::int from campaign_recipients
    where workspace_id = ${uuidOf(ctx.workspaceId)} and campaign_id = ${uuidOf(campaignId)} group by status`)
  return Object.fromEntries(result.rows.map((row) => [row.status, row.count]))
}

/** The only delivery of the workspace. */
export async function readOnlyDelivery(ctx: Ctx) {
  const result = await ctx.db.execute(sql`
    select * from deliveries where workspace_id = ${uuidOf(ctx.workspaceId)}`)
  const [row] = result.rows
  if (!row || result.rows.length > 1) throw new Error(`There are ${result.rows.length} deliveries`)
  return { ...row, uuid: String(row['id']), id: idOf('dlv', String(row['id'])), status: row['status'] as string }
}

/** What may happen only so long after the last mail may happen now. */
export async function ageMails(db: Db): Promise<void> {
  await db.execute(sql`update mails set created_at = created_at - interval '1 hour'`)
}

/** As a worker leaves them whose receivers are away. */
export async function failDeliveries(db: Db): Promise<void> {
  await db.execute(sql`update deliveries set status = 'FAILED'`)
}

/** The token in the newest mail to this address, rendered as the worker would. */
export async function tokenMailedTo(ctx: BaseCtx, address: string): Promise<string> {
  const newestFirst = [desc(mails.createdAt), desc(mails.id)]
  const [mail] = await ctx.db
    .select()
    .from(mails)
    .where(eq(mails.toAddress, address))
    .orderBy(...newestFirst)
  const rendered =
    mail && (await renderMail({ ...ctx, workspaceId: mail.workspaceId, actor: { kind: 'system' } }, mail))
  return /token=([\w.-]+)/.exec(rendered?.text ?? '')?.[1] ?? 'there is no mail, or no link in it'
}

/** How many of a workspace's deliveries have each status. */
export async function countDeliveries(ctx: Ctx): Promise<Record<string, number>> {
  const { rows } = await ctx.db.execute<{ status: string; count: number }>(sql`
    select status, count(*)::int from deliveries where workspace_id = ${uuidOf(ctx.workspaceId)} group by 1`)
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]))
}
