import { RecipientQuery } from '@rapport/core/campaigns/campaigns.schema.ts'
import { listRecipients } from '@rapport/core/campaigns/list-recipients.ts'
import { sendCampaign } from '@rapport/core/campaigns/send-campaign.ts'
import { claimRecipients, recordRecipientOutcomes } from '@rapport/core/campaigns/sending.ts'
import { createContact } from '@rapport/core/contacts/create-contact.ts'
import { createCustomField } from '@rapport/core/contacts/custom-fields/custom-fields.ts'
import { type Contact, ContactInput } from '@rapport/core/contacts/contacts.schema.ts'
import { updateContact } from '@rapport/core/contacts/update-contact.ts'
import { transaction } from '@rapport/core/db/transaction.ts'
import { updateDeal } from '@rapport/core/deals/update-deal.ts'
import { submitForm } from '@rapport/core/forms/submissions.ts'
import { idOf, uuidOf, type WebhookId } from '@rapport/core/kernel/ids.ts'
import { confirmSubscription, subscribe } from '@rapport/core/lists/subscribe.ts'
import { deleteContact } from '@rapport/core/operations/contacts/delete-contact.ts'
import { eraseNextStep } from '@rapport/core/operations/contacts/erase-contact.ts'
import { mergeContacts } from '@rapport/core/operations/contacts/merge-contacts.ts'
import { reportMailEvent } from '@rapport/core/operations/mail-events.ts'
import { MailReport } from '@rapport/core/operations/mail-events.schema.ts'
import { updateTask } from '@rapport/core/tasks/tasks.ts'
import { listDeliveries, redeliverMany } from '@rapport/core/webhooks/delivery-log.ts'
import { claimTestBatch, startTestCampaign } from '@rapport/testing/fixtures/campaign-work.ts'
import {
  claimTestBacklog,
  createTestCampaign,
  createTestContact,
  createTestDeal,
  createTestForm,
  createTestList,
  createTestTask,
  createTestWebhook,
  listPendingWork,
  readMailedToken,
  testOutcome,
} from '@rapport/testing/fixtures/factories.ts'
import { runTestImport } from '@rapport/testing/fixtures/imports.ts'
import { useForFile, useForTest, useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { startHttpReceiver, startSmtpReceiver } from '@rapport/testing/network/receivers.ts'
import { recordAndTakeNext } from '@rapport/core/webhooks/drain/backlog-claim.ts'
import { expect, test } from 'vitest'
import { createTestDeps, drain, jobOf } from '../testing.ts'
import { eraseContactJob } from './erase-contact.ts'
import { sendCampaignBatch } from './send-campaign-batch.ts'
import { sendMail } from './send-mail.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const smtp = useForFile(() => startSmtpReceiver())
const receiver = useForFile(() => startHttpReceiver(({ body }) => ({ body: `received ${body.toString()}` })))
const deps = useForTest(() => createTestDeps(database.db, { smtpUrl: smtp.url }))

/** Runs the pending work of a queue, as a worker does. */
async function runWork(queue: 'mail' | 'campaigns'): Promise<void> {
  const run = queue === 'mail' ? sendMail : sendCampaignBatch
  for (const uuid of await listPendingWork(ctx, queue)) await run(deps, jobOf(ctx, uuid)).catch(() => {})
}

const erase = (contact: Contact) => eraseContactJob(deps, jobOf(ctx, uuidOf(contact.id)))

/** Finds every column of the database that contains one of the texts, in any case. */
async function findColumns(texts: readonly string[]): Promise<string[]> {
  const { rows: columns } = await database.pool.query<{ table: string; column: string; type: string }>(`
    select c.table_name as table, c.column_name as column, c.data_type as type from information_schema.columns c
    join pg_class on pg_class.oid = format('public.%I', c.table_name)::regclass
    where c.table_schema = 'public' and relkind in ('r', 'p') and not relispartition order by 1, 2`)
  const found: string[] = []
  for (const { table, column, type } of columns) {
    const text = type === 'bytea' ? `encode("${column}", 'escape')` : `"${column}"::text`
    const { rowCount } = await database.pool.query(
      `select from "${table}" where lower(${text}) like any($1::text[]) limit 1`,
      [texts.map((words) => `%${words.toLowerCase()}%`)],
    )
    if (rowCount) found.push(`${table}.${column}`)
  }
  return found
}

interface Person {
  email: string
  name: string
  phone: string
}

/** Creates everything that can be recorded about a person. Returns the contact and the person's words. */
async function createTraces({ email, name, phone }: Person, webhookId: WebhookId) {
  const words = (kind: string) => `${kind} of ${name}`
  const former = `former.${email}`
  const duplicateEmail = `duplicate.${email}`
  await reportMailEvent(ctx, MailReport.parse({ type: 'BOUNCE', email, permanent: false, detail: `4.2.2 <${email}>` }))
  const list = await createTestList(ctx)
  await subscribe(ctx, list.id, { email: former, firstName: name, lastName: words('surname') })
  await runWork('mail')
  await confirmSubscription(ctx, await readMailedToken(ctx, former))
  const form = await createTestForm(ctx)
  await submitForm(ctx, form.id, { values: { email: former, phone, message: words('message'), news: true } })
  const { rows } = await database.pool.query<{ id: string }>('select id from contacts where email = $1', [former])
  const id = idOf('con', rows[0]?.id ?? '')
  await updateContact(ctx, id, { email, tags: [words('tag')], customFieldValues: { note: words('note') } })
  await subscribe(ctx, (await createTestList(ctx)).id, { email, firstName: '', lastName: '' })

  const deal = await createTestDeal(ctx, { contactId: id, name: words('deal') })
  await updateDeal(ctx, deal.id, { status: 'WON' })
  const task = await createTestTask(ctx, { contactId: id, title: words('task'), notes: words('notes') })
  await updateTask(ctx, task.id, { status: 'DONE' })
  const duplicate = await createContact(
    ctx,
    ContactInput.parse({ email: duplicateEmail, company: words('company'), tags: [words('label')] }),
  )
  const contact = await mergeContacts(ctx, id, { contactId: duplicate.id })
  const unassigned = await createTestForm(ctx, { fields: [{ id: 'text', label: 'Text', type: 'TEXTAREA' }] })
  await submitForm(ctx, unassigned.id, { values: { text: `Write to me: ${email}.` } })

  smtp.decide(() => 550)
  await sendCampaign(ctx, (await createTestCampaign(ctx, { listId: list.id })).id)
  await runWork('campaigns')
  await runWork('mail')
  smtp.decide(() => 'accept')
  await reportMailEvent(ctx, MailReport.parse({ type: 'COMPLAINT', email, detail: `complaint of <${email}>` }))
  await runTestImport(ctx, `email,firstName,phone\n${email},${name},no phone number`, { onConflict: 'update' })
  await drain(deps, ctx, webhookId)
  await redeliverMany(ctx, webhookId, { status: 'SUCCEEDED' })
  await drain(deps, ctx, webhookId)
  return { contact, texts: [email, name, phone] }
}

const createFields = () => createCustomField(ctx, { key: 'note', label: 'Note', type: 'TEXT', options: [] })
const createEcho = () => createTestWebhook(ctx, { url: `${receiver.url}/hook`, eventTypes: ['*'] })

/** Erases a contact with a crash in each step: the first attempt of every step is rolled back. */
async function eraseWithCrashes({ id }: Contact): Promise<void> {
  for (let state = ''; state !== 'done'; ) {
    const crash = transaction(database.db, async (db) => {
      await eraseNextStep({ ...ctx, db }, uuidOf(id))
      throw new Error('crashed')
    })
    await expect(crash).rejects.toThrow('crashed')
    state = await eraseNextStep(ctx, uuidOf(id))
  }
}

const countRedacted = async () => {
  const { rows } = await database.pool.query<{ type: string; redacted: boolean }>(
    `select type, data ->> 'redacted' is not null as redacted from events where workspace_id = $1`,
    [uuidOf(ctx.workspaceId)],
  )
  return { redacted: rows.filter(({ redacted }) => redacted).length, all: rows.length }
}

test('no column of any table names a person after the deletion', { timeout: 60_000 }, async () => {
  await createFields()
  const webhook = await createEcho()
  const ada = await createTraces({ email: 'ada@example.com', name: 'Adalina', phone: '+44 20 7946 0001' }, webhook.id)
  const other = await createTraces({ email: 'lada@example.com', name: 'Ladona', phone: '+44 20 7946 0002' }, webhook.id)
  // As an earlier release recorded them.
  await database.pool.query(
    `update campaign_recipients set error = '550 <ada@example.com> is refused' where contact_id = $1`,
    [uuidOf(ada.contact.id)],
  )
  await database.pool.query(`update campaigns set pause_reason = '550 <ada@example.com> is refused'`)
  await database.pool.query(`update imports set errors = '[{"line": 2, "message": "email: <ada@example.com> is bad"}]'`)
  expect(await findColumns(ada.texts)).toEqual([
    'campaign_recipients.error',
    'campaigns.pause_reason',
    'contacts.company',
    'contacts.custom_field_values',
    'contacts.email',
    'contacts.first_name',
    'contacts.last_name',
    'contacts.phone',
    'contacts.search_text',
    'contacts.tags',
    'deals.name',
    'deliveries.response_body',
    'events.data',
    'form_submissions.values',
    'imports.errors',
    'mails.to_address',
    'tasks.notes',
    'tasks.title',
  ])
  const columnsOfOther = await findColumns(other.texts)
  const readEventsOfOther = async () =>
    (await database.pool.query(`select id, data from events where data::text like '%Ladona%' order by id`)).rows
  const eventsOfOther = await readEventsOfOther()

  await deleteContact(ctx, ada.contact.id)
  await drain(deps, ctx, webhook.id)
  await eraseWithCrashes(ada.contact)
  const traces = ['"ada@', '<ada@', ' ada@', 'former.ada@', 'duplicate.ada@', 'adalina', '7946 0001']
  expect(await findColumns(traces)).toEqual([])
  expect(await findColumns(['of adalina'])).toEqual([])
  expect(await findColumns(other.texts)).toEqual(columnsOfOther)
  expect(await readEventsOfOther()).toEqual(eventsOfOther)
  expect(await listPendingWork(ctx, 'maintenance')).toEqual([])
})

test('a new contact with the same address is not touched', async () => {
  const webhook = await createEcho()
  const old = await createTestContact(ctx, { email: 'ada@example.com' })
  await deleteContact(ctx, old.id)
  const list = await createTestList(ctx)
  await subscribe(ctx, list.id, { email: 'ada@example.com', firstName: 'Ada', lastName: '' })
  await reportMailEvent(ctx, MailReport.parse({ type: 'BOUNCE', email: 'ada@example.com', permanent: false }))
  await drain(deps, ctx, webhook.id)
  await erase(old)
  expect(await countRedacted()).toEqual({ redacted: 1, all: 5 })
  const { data } = await listDeliveries(ctx, webhook.id, { limit: 50, sort: '-createdAt' })
  expect(data.map(({ eventType, responseBody }) => [eventType, responseBody === null]).toReversed()).toEqual([
    ['contact.created', true],
    ['contact.deleted', true],
    ['contact.created', false],
    ['subscription.created', false],
    ['mail.bounced', false],
  ])
  expect(await readMailedToken(ctx, 'ada@example.com')).toMatch(/^[\w-]+\.[\w-]+$/)
})

test('a pending confirmation is canceled', async () => {
  const list = await createTestList(ctx)
  await subscribe(ctx, list.id, { email: 'ada@example.com', firstName: '', lastName: '' })
  const find = async (table: string) =>
    (
      await database.pool.query<{ id: string }>(`select id from ${table} where workspace_id = $1`, [
        uuidOf(ctx.workspaceId),
      ])
    ).rows
  const [[contact], [mail]] = [await find('contacts'), await find('mails')]
  expect(await listPendingWork(ctx, 'mail')).toEqual([mail?.id])
  await deleteContact(ctx, idOf('con', contact?.id ?? ''))
  await eraseContactJob(deps, jobOf(ctx, contact?.id ?? ''))
  expect([await find('mails'), await listPendingWork(ctx)]).toEqual([[], []])
  await sendMail(deps, jobOf(ctx, mail?.id ?? ''))
})

test('pending deliveries send the redacted record', async () => {
  const webhook = await createEcho()
  const ada = await createTestContact(ctx, { email: 'ada@example.com' })
  await deleteContact(ctx, ada.id)
  await erase(ada)
  const before = receiver.requests.length
  await drain(deps, ctx, webhook.id)
  const bodies = receiver.requests.slice(before).map(({ body }) => JSON.parse(body.toString()) as object)
  expect(bodies).toMatchObject([
    { type: 'contact.created', data: { id: ada.id, redacted: true } },
    { type: 'contact.deleted', data: { id: ada.id } },
  ])
})

test('waits for requests that were sent before the deletion', async () => {
  const { id } = await createEcho()
  const ada = await createTestContact(ctx, { email: 'ada@example.com' })
  const { claim, take } = await claimTestBacklog(ctx, id, { workerId: deps.workerId, limit: 1 })
  await deleteContact(ctx, ada.id)
  await erase(ada)
  expect(await listPendingWork(ctx, 'maintenance')).toEqual([uuidOf(ada.id)])
  const ended = (take?.deliveries ?? []).map(({ uuid }) => ({
    uuid,
    outcome: testOutcome({ responseBody: ada.email }),
  }))
  expect(ended).toHaveLength(1)
  await recordAndTakeNext(ctx.db, claim, { ended, inFlight: [], limit: 1 })
  await erase(ada)
  expect(await listPendingWork(ctx, 'maintenance')).toEqual([])
  expect((await listDeliveries(ctx, id, { limit: 50, sort: '-createdAt' })).data).toMatchObject([
    { status: 'PENDING' },
    { status: 'SUCCEEDED', responseBody: null },
  ])
})

test('waits for an email that is being sent', async () => {
  const { id, batches } = await startTestCampaign(ctx, 2)
  const batch = await claimTestBatch(ctx, batches[0], deps.workerId)
  const { recipients } = await claimRecipients(ctx, batch, batch.contactUuids)
  const [ada, grace] = recipients.map((recipient) => recipient.id)
  if (!ada || !grace) throw new Error('There are no recipients')
  await deleteContact(ctx, ada)
  await eraseContactJob(deps, jobOf(ctx, uuidOf(ada)))
  expect(await listPendingWork(ctx, 'maintenance')).toEqual([uuidOf(ada)])
  const outcome = { status: 'FAILED', error: `550 <${recipients[0]?.email}> is refused` } as const
  await recordRecipientOutcomes(
    ctx,
    batch,
    [ada, grace].map((contactId) => ({ contactId, ...outcome })),
  )
  await eraseContactJob(deps, jobOf(ctx, uuidOf(ada)))
  expect(await listPendingWork(ctx, 'maintenance')).toEqual([])
  const { data } = await listRecipients(ctx, id, RecipientQuery.parse({}))
  const redacted = 'Redacted: the contact was deleted'
  expect(data.map(({ error }) => error)).toEqual([redacted, redacted])
})

test('many events are redacted in short steps, also by two concurrent jobs', async () => {
  const ada = await createTestContact(ctx, { email: 'ada@example.com' })
  await database.pool.query(
    `insert into events (workspace_id, id, type, data, contact_id)
     select $1, uuidv7(), 'contact.updated', '{"email": "ada@example.com"}', $2 from generate_series(1, 5000)`,
    [uuidOf(ctx.workspaceId), uuidOf(ada.id)],
  )
  await deleteContact(ctx, ada.id)
  expect(await eraseNextStep(ctx, uuidOf(ada.id))).toBe('continue')
  expect(await countRedacted()).toEqual({ redacted: 500, all: 5_002 })
  await eraseContactJob({ ...deps, stopping: AbortSignal.abort() }, jobOf(ctx, uuidOf(ada.id)))
  expect(await countRedacted()).toEqual({ redacted: 1_000, all: 5_002 })
  expect(await listPendingWork(ctx, 'maintenance')).toEqual([uuidOf(ada.id)])
  await Promise.all([erase(ada), erase(ada)])
  expect(await countRedacted()).toEqual({ redacted: 5_001, all: 5_002 })
  expect(await listPendingWork(ctx, 'maintenance')).toEqual([])
})
