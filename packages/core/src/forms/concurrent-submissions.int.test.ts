/** Submissions to forms with a list, and submissions during concurrent changes. */
import { eq, sql } from 'drizzle-orm'
import { describe, expect, test } from 'vitest'
import { updateContact } from '../contacts/update-contact.ts'
import { mergeContacts } from '../operations/contacts/merge-contacts.ts'
import type { Contact } from '../contacts/contacts.schema.ts'
import { newId, uuidOf } from '../kernel/ids.ts'
import { clearDeletedList, deleteList } from '../lists/delete-list.ts'
import { unsubscribeUrl } from '../lists/subscription-links.ts'
import { addSubscriber, readSubscriber } from '../lists/subscribers.ts'
import { contacts, mails } from '../db/schema/index.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import {
  createTestContact,
  createTestForm,
  createTestList,
  listEventTypes,
  testFormFields,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { deleteForm, readForm } from './forms.ts'
import type { Form } from './forms.schema.ts'
import { listSubmissions, readSubmission, submitForm } from './submissions.ts'
import { unsubscribe } from '../operations/contacts/unsubscribe.ts'
import { readContact } from '../contacts/read-contact.ts'
import { deleteContact } from '../operations/contacts/delete-contact.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

const email = 'ada@example.com'
const submit = (
  form: Form,
  values: Record<string, unknown>,
  more: { repetitionKey?: string; versions?: string[] } = {},
) => submitForm(ctx, form.id, { values, ...more })
const submissionsOf = async (form: Form) =>
  (await listSubmissions(ctx, form.id, { limit: 100, sort: '-createdAt' })).data
const mailsOf = () => ctx.db.select().from(mails).where(eq(mails.workspaceId, ctx.workspaceId))

async function findContact(address = email): Promise<Contact | undefined> {
  const [row] = await ctx.db
    .select({ id: contacts.id })
    .from(contacts)
    .where(sql`workspace_id = ${uuidOf(ctx.workspaceId)} and email = ${address}`)
  return row && readContact(ctx, row.id)
}

describe('a form with a list', () => {
  const both = [...testFormFields, { id: 'terms', label: 'I know the terms', type: 'CONSENT' as const }]

  test('sends a confirmation email only if every consent is given', async () => {
    const list = await createTestList(ctx)
    const form = await createTestForm(ctx, { listId: list.id, fields: both })
    await submit(form, { email, news: true })
    await submit(form, { email, terms: true, news: false })
    expect([(await findContact())?.emailSubscribedStatus, (await mailsOf()).length]).toEqual(['NONE', 0])
    await submit(form, { email, terms: true, news: true })
    const { id = newId('con') } = (await findContact()) ?? {}
    expect(await readSubscriber(ctx, list.id, id)).toMatchObject({ status: 'PENDING', source: 'form:Contact us' })
    expect(await mailsOf()).toMatchObject([{ kind: 'CONFIRMATION', toAddress: email }])
    // Without an email there is no contact to subscribe.
    await submit(form, { terms: true, news: true })
    expect(await mailsOf()).toHaveLength(1)
  })

  test.each(['unsubscribed', 'unsubscribed and was deleted'])(
    'asks a contact that %s for confirmation',
    async (how) => {
      const list = await createTestList(ctx)
      const form = await createTestForm(ctx, { listId: list.id })
      await addSubscriber(ctx, list.id, { email, status: 'CONFIRMED' })
      const { id = newId('con') } = (await findContact()) ?? {}
      const url = unsubscribeUrl(ctx, { listId: list.id, contactId: id, email })
      await unsubscribe(ctx, new URL(url).searchParams.get('token') ?? '')
      if (how !== 'unsubscribed') await deleteContact(ctx, id)
      await submit(form, { email, news: true })
      expect((await findContact())?.emailSubscribedStatus).toBe('UNSUBSCRIBED')
      expect(await mailsOf()).toHaveLength(1)
    },
  )

  test('accepts submissions after the list was deleted', async () => {
    const list = await createTestList(ctx)
    const form = await createTestForm(ctx, { listId: list.id })
    await deleteList(ctx, list.id)
    await submit(form, { email, news: true })
    expect(await clearDeletedList(ctx, uuidOf(list.id))).toBe(false)
    expect(await readForm(ctx, form.id)).toMatchObject({ listId: null, updatedAt: form.updatedAt })
    await submit(form, { email, news: true })
    expect([(await submissionsOf(form)).length, (await findContact())?.emailSubscribedStatus]).toEqual([2, 'NONE'])
  })

  test('loses no submission and leaves no subscriber when the list is deleted', async () => {
    const list = await createTestList(ctx)
    const form = await createTestForm(ctx, { listId: list.id })
    const submitting = Array.from({ length: 30 }, (_, n) => submit(form, { email: `p${n}@example.com`, news: true }))
    const clearing = deleteList(ctx, list.id).then(async () => {
      while (await clearDeletedList(ctx, uuidOf(list.id)));
    })
    await Promise.all([...submitting, clearing])
    expect(await submissionsOf(form)).toHaveLength(30)
    const statuses = await ctx.db.execute(sql`
      select email_subscribed_status from contacts where workspace_id = ${uuidOf(ctx.workspaceId)} group by 1`)
    expect(statuses.rows).toEqual([{ email_subscribed_status: 'NONE' }])
  })
})

describe('concurrent changes', () => {
  test('a submission to a form that is being deleted fails and leaves no contact', async () => {
    const form = await createTestForm(ctx)
    const deleting = await openTransaction(ctx.db, (db) => deleteForm({ ...ctx, db }, form.id))
    const submitting = submit(form, { email })
    await waitUntilBlocked(ctx.db)
    await Promise.all([
      expect(submitting).rejects.toMatchObject({ code: 'not_found', message: 'Form not found' }),
      deleting.commit(),
    ])
    expect([await findContact(), await listEventTypes(ctx)]).toEqual([undefined, []])
  })

  test.each(['deleted', 'merged', 'renamed'])(
    'creates a new contact if the existing one is concurrently %s',
    async (how) => {
      const form = await createTestForm(ctx)
      const [known, other] = [await createTestContact(ctx, { email }), await createTestContact(ctx)]
      const changing = await openTransaction(ctx.db, (db) => {
        if (how === 'deleted') return deleteContact({ ...ctx, db }, known.id)
        if (how === 'merged') return mergeContacts({ ...ctx, db }, other.id, { contactId: known.id })
        return updateContact({ ...ctx, db }, known.id, { email: 'new@example.com' })
      })
      const submitting = submit(form, { email, first: 'Ada' })
      await waitUntilBlocked(ctx.db)
      await Promise.all([submitting, changing.commit()])
      const contact = await findContact()
      expect(contact?.id).not.toBe(known.id)
      expect(await submissionsOf(form)).toMatchObject([{ contactId: contact?.id }])
    },
  )

  test('twenty concurrent submissions with one email fill one contact', async () => {
    const form = await createTestForm(ctx)
    await Promise.all(Array.from({ length: 20 }, (_, n) => submit(form, { email, first: `Name ${n}` })))
    const submissions = await submissionsOf(form)
    expect([submissions.length, new Set(submissions.map(({ contactId }) => contactId)).size]).toEqual([20, 1])
    expect(submissions.map(({ values }) => values['first'])).toContain((await findContact())?.firstName)
  })
})

test('submissions move when contacts are merged and are deleted with their contact', async () => {
  const form = await createTestForm(ctx)
  const [one, two] = [await submit(form, { email }), await submit(form, { email: 'two@example.com' })]
  const [ada, duplicate] = [await findContact(), await findContact('two@example.com')]
  await mergeContacts(ctx, ada?.id ?? newId('con'), { contactId: duplicate?.id ?? newId('con') })
  for (const { submissionId } of [one, two]) {
    expect(await readSubmission(ctx, { formId: form.id, submissionId })).toMatchObject({ contactId: ada?.id })
  }
  await deleteContact(ctx, ada?.id ?? newId('con'))
  expect(await submissionsOf(form)).toEqual([])
})
