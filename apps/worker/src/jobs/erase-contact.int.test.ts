import { sendCampaign } from '@rapport/core/campaigns/send-campaign.ts'
import { sendTestMail } from '@rapport/core/campaigns/campaign-mail.ts'
import { createContact } from '@rapport/core/contacts/create-contact.ts'
import { createCustomField } from '@rapport/core/custom-fields/custom-fields.ts'
import { type Contact, NewContact } from '@rapport/core/contacts/contacts.schema.ts'
import { updateContact } from '@rapport/core/contacts/update-contact.ts'
import { transaction } from '@rapport/core/db/transaction.ts'
import { updateDeal } from '@rapport/core/deals/update-deal.ts'
import { submitForm } from '@rapport/core/forms/submissions.ts'
import { idOf, uuidOf, type WebhookId } from '@rapport/core/kernel/ids.ts'
import { confirmSubscription, subscribe } from '@rapport/core/lists/subscribe.ts'
import { deleteContact } from '@rapport/core/operations/contacts/delete-contact.ts'
import { eraseNextStep } from '@rapport/core/operations/contacts/erase-contact.ts'
import { findTraces } from '@rapport/core/operations/contacts/find-traces.ts'
import { mergeContacts } from '@rapport/core/operations/contacts/merge-contacts.ts'
import { reportByClient } from '@rapport/testing/fixtures/mail-reports.ts'
import { updateTask } from '@rapport/core/tasks/tasks.ts'
import { redeliverMany } from '@rapport/core/webhooks/delivery-log.ts'
import {
  createTestCampaign,
  createTestDeal,
  createTestForm,
  createTestList,
  createTestNote,
  createTestTask,
  createTestWebhook,
  listPendingWork,
  readMailedToken,
} from '@rapport/testing/fixtures/factories.ts'
import { runTestImport } from '@rapport/testing/fixtures/imports.ts'
import { useForFile, useForTest, useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { startHttpReceiver, startSmtpReceiver } from '@rapport/testing/network/receivers.ts'
import { expect, test } from 'vitest'
import { createTestDeps, drain, jobOf } from '../../test/fixtures.ts'
import { sendCampaignBatch } from './send-campaign-batch.ts'
import { sendMail } from './send-mail.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const smtp = useForFile(() => startSmtpReceiver())
const receiver = useForFile(() => startHttpReceiver(({ body }) => ({ body: `received ${body.toString()}` })))
const deps = useForTest(() => createTestDeps(database.db, { smtpUrl: smtp.url }))

/** Runs the pending work of a queue, as a worker does. */
async function runWork(queue: 'mail' | 'campaigns'): Promise<void> {
  const [run, kind] =
    queue === 'mail' ? ([sendMail, 'MAIL'] as const) : ([sendCampaignBatch, 'CAMPAIGN_BATCH'] as const)
  for (const uuid of await listPendingWork(ctx, queue)) await run(deps, jobOf(ctx, kind, uuid)).catch(() => {})
}

/** Finds every column of the database that contains one of the texts, in any case. */
async function findColumns(texts: readonly string[]): Promise<string[]> {
  const { traces } = await findTraces(
    database.url,
    texts.map((text) => text.toLowerCase()),
  )
  return traces.map(({ table, column }) => `${table}.${column}`).toSorted()
}

interface Person {
  email: string
  name: string
  phone: string
}

/** Creates everything that can be recorded about a contact. Returns the contact and the person's words. */
async function createTraces({ email, name, phone }: Person, webhookId: WebhookId) {
  const words = (kind: string) => `${kind} of ${name}`
  const former = `former.${email}`
  const duplicateEmail = `duplicate.${email}`
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
  await createTestNote(ctx, { contactId: id, body: words('call') })
  await createTestNote(ctx, { dealId: deal.id, body: words('meeting') })
  const duplicate = await createContact(
    ctx,
    NewContact.parse({ email: duplicateEmail, company: words('company'), tags: [words('label')] }),
  )
  await subscribe(ctx, list.id, { email: duplicateEmail, firstName: '', lastName: '' })
  const contact = await mergeContacts(ctx, id, { contactId: duplicate.id })

  smtp.decide(() => 550)
  const campaign = await createTestCampaign(ctx, { listId: list.id })
  await sendTestMail(ctx, campaign.id, { email: 'tester@example.com', contactId: id })
  await sendCampaign(ctx, campaign.id)
  await runWork('campaigns')
  await runWork('mail')
  smtp.decide(() => 'accept')
  await reportByClient(ctx, { type: 'COMPLAINT', email, detail: `complaint of <${email}>` })
  await runTestImport(ctx, `email,firstName,phone\n${email},${name},no phone number`, { onConflict: 'update' })
  await drain(deps, ctx)
  await redeliverMany(ctx, webhookId, { status: 'SUCCEEDED', dryRun: false })
  await drain(deps, ctx)
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

test('no column of any table names a contact after its deletion', async () => {
  await createFields()
  const webhook = await createEcho()
  const ada = await createTraces({ email: 'ada@example.com', name: 'Adalina', phone: '+44 20 7946 0001' }, webhook.id)
  const other = await createTraces({ email: 'lada@example.com', name: 'Ladona', phone: '+44 20 7946 0002' }, webhook.id)
  // As if the server had quoted the address in a form that the mail transport does not hide.
  await database.pool.query(
    `update campaign_recipients set error = '550 <ada@example.com> is refused' where contact_id = $1`,
    [uuidOf(ada.contact.id)],
  )
  expect(await findColumns(ada.texts)).toEqual([
    'campaign_recipients.error',
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
    'mails.to_address',
    'notes.body',
    'subscriptions.consent',
    'tasks.notes',
    'tasks.title',
  ])
  const columnsOfOther = await findColumns(other.texts)
  const readEventsOfOther = async () =>
    (
      await database.pool.query<{ data: unknown }>(
        `select data from events where data::text like '%Ladona%' order by id`,
      )
    ).rows
  const eventsOfOther = await readEventsOfOther()

  await deleteContact(ctx, ada.contact.id)
  await drain(deps, ctx)
  await eraseWithCrashes(ada.contact)
  const traces = ['"ada@', '<ada@', ' ada@', 'former.ada@', 'duplicate.ada@', 'adalina', '7946 0001']
  expect(await findColumns(traces)).toEqual([])
  expect(await findColumns(['of adalina'])).toEqual([])
  expect(await findColumns(other.texts)).toEqual(columnsOfOther)
  expect(await readEventsOfOther()).toEqual(eventsOfOther)
  expect(await findColumns([ada.contact.id])).not.toContain('mails.data')
  expect(await listPendingWork(ctx, 'maintenance')).toEqual([])
})

test('what names a person without belonging to the contact remains until it expires', async () => {
  await createFields()
  const webhook = await createEcho()
  const email = 'grace@example.com'
  const form = await createTestForm(ctx, { fields: [{ id: 'text', label: 'Text', type: 'TEXTAREA' }] })
  await submitForm(ctx, form.id, { values: { text: `Write to me: ${email}.` } })
  await reportByClient(ctx, { type: 'BOUNCE', email, permanent: false, detail: `4.2.2 <${email}>` })
  const { contact } = await createTraces({ email, name: 'Gracelyn', phone: '+44 20 7946 0003' }, webhook.id)
  await deleteContact(ctx, contact.id)
  await eraseWithCrashes(contact)
  expect(await findColumns([email])).toEqual(['deliveries.response_body', 'events.data', 'form_submissions.values'])
  const { rows } = await database.pool.query(
    `select e.type, e.contact_id, count(response_body)::int as responses
     from events e left join deliveries d on d.workspace_id = e.workspace_id and d.event_id = e.id
     where data::text like '%grace@%' group by 1, 2 order by 1`,
  )
  expect(rows).toEqual([
    { type: 'form.submitted', contact_id: null, responses: 2 },
    { type: 'mail.bounced', contact_id: null, responses: 2 },
  ])
})
