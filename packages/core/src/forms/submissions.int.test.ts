import { eq, sql } from 'drizzle-orm'
import { describe, expect, test } from 'vitest'
import { createContact } from '../contacts/create-contact.ts'
import { updateContact } from '../contacts/update-contact.ts'
import type { Contact } from '../contacts/contacts.schema.ts'
import { CustomFieldInput } from '../custom-fields/custom-fields.schema.ts'
import { createCustomField } from '../custom-fields/custom-fields.ts'
import { newId, uuidOf } from '../kernel/ids.ts'
import { contacts, events } from '../db/schema/index.ts'
import { createTestForm, listEventTypes, testFormFields } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { updateForm, deleteForm, findPublicForm, readForm, computeFormVersion } from './forms.ts'
import { type Form, FormInput } from './forms.schema.ts'
import { listSubmissions, readSubmission, submitForm } from './submissions.ts'
import { readContact } from '../contacts/read-contact.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

const email = 'ada@example.com'
const fields = testFormFields
const submit = (
  form: Form,
  values: Record<string, unknown>,
  more: { repetitionKey?: string; versions?: string[] } = {},
) => submitForm(ctx, form.id, { values, ...more })
const submissionsOf = async (form: Form) =>
  (await listSubmissions(ctx, form.id, { limit: 100, sort: '-createdAt' })).data

async function findContact(address = email): Promise<Contact | undefined> {
  const [row] = await ctx.db
    .select({ id: contacts.id })
    .from(contacts)
    .where(sql`workspace_id = ${uuidOf(ctx.workspaceId)} and email = ${address}`)
  return row && readContact(ctx, row.id)
}

describe('submitting a form', () => {
  test('stores the submission, creates a contact, and emits both events', async () => {
    const form = await createTestForm(ctx, { tags: ['website'] })
    const { submissionId } = await submit(form, { email, first: ' Ada ', message: 'Hello\nthere', news: true })
    const contact = await findContact()
    expect(contact).toMatchObject({
      firstName: 'Ada',
      tags: ['website'],
      source: 'form:Contact us',
      lastActivityAt: expect.any(String),
    })
    const submission = await readSubmission(ctx, { formId: form.id, submissionId })
    expect(submission).toEqual({
      id: submissionId,
      formId: form.id,
      contactId: contact?.id,
      values: { email, first: 'Ada', message: 'Hello\nthere', news: true },
      consents: [{ fieldId: 'news', wording: 'Send me the newsletter' }],
      createdAt: expect.any(String),
    })
    const stored = await ctx.db.select().from(events).where(eq(events.workspaceId, ctx.workspaceId))
    expect(stored.map(({ type }) => type).toSorted()).toEqual(['contact.created', 'form.submitted'])
    expect(stored.find(({ type }) => type === 'form.submitted')?.data).toEqual(submission)
  })

  test('stores a submission that maps to no contact', async () => {
    const form = await createTestForm(ctx)
    await submit(form, { first: 'Ada' })
    await submit(form, {})
    expect(await submissionsOf(form)).toMatchObject([
      { contactId: null, values: {} },
      { contactId: null, values: { first: 'Ada' } },
    ])
    expect(await listEventTypes(ctx)).toEqual(['form.submitted', 'form.submitted'])
  })

  test('fills empty properties of an existing contact and overwrites none', async () => {
    await createCustomField(ctx, CustomFieldInput.parse({ key: 'size', label: 'Size', type: 'TEXT' }))
    await createCustomField(ctx, CustomFieldInput.parse({ key: 'vip', label: 'Vip', type: 'BOOLEAN' }))
    const form = await createTestForm(ctx, {
      tags: ['website', 'old'],
      fields: [
        ...fields,
        { id: 'size', label: 'Size', type: 'TEXT', mapsTo: 'customFieldValues.size' },
        { id: 'vip', label: 'Vip', type: 'CHECKBOX', mapsTo: 'customFieldValues.vip' },
      ],
    })
    const known = await createContact(ctx, {
      email: 'Ada@example.com',
      firstName: 'Augusta',
      tags: ['old'],
      source: 'fair',
      customFieldValues: { vip: false },
    })
    await submit(form, { email, first: 'Eve', phone: '+44 20', company: 'Engines', size: 'L', vip: true })
    const filled = await readContact(ctx, known.id)
    expect(filled).toMatchObject({
      email: 'Ada@example.com',
      firstName: 'Augusta',
      phone: '+44 20',
      company: 'Engines',
      source: 'fair',
      tags: ['old', 'website'],
      customFieldValues: { vip: false, size: 'L' },
    })
    const { updatedAt: _, lastActivityAt: __, ...before } = filled
    await submit(form, { email, first: 'Eve', phone: '666', company: 'Evil', size: 'S', vip: true })
    expect(await readContact(ctx, known.id)).toMatchObject(before)
    expect(await listEventTypes(ctx)).toEqual([
      'contact.created',
      'contact.updated',
      'form.submitted',
      'form.submitted',
    ])
  })

  test('rejects invalid values, names the field, and stores nothing', async () => {
    const form = await createTestForm(ctx)
    for (const [values, path] of [
      [{ email: 'invalid' }, 'email'],
      [{ email, other: 1 }, 'other'],
      [{ email, constructor: 1 }, 'constructor'],
      [{ email, message: { a: 1 } }, 'message'],
    ] as const) {
      await expect(submit(form, values)).rejects.toMatchObject({ code: 'validation_error', issues: [{ path }] })
    }
    expect([await submissionsOf(form), await findContact(), await listEventTypes(ctx)]).toEqual([[], undefined, []])
  })

  test('counts and discards bot submissions with the usual response', async () => {
    const form = await createTestForm(ctx)
    for (const trap of ['http://spam.example', 1, false, ['x'], ' ']) {
      expect(await submit(form, { email: 'not checked', _website: trap })).toEqual({
        success: true,
        submissionId: expect.stringMatching(/^sub_[0-9a-z]{26}$/),
      })
    }
    for (const trap of ['', null, undefined]) await submit(form, { email, _website: trap })
    expect((await readForm(ctx, form.id)).spamCount).toBe(5)
    expect((await submissionsOf(form)).map(({ values }) => values)).toEqual([{ email }, { email }, { email }])
  })

  test('rejects submissions to a disabled or deleted form with not_found', async () => {
    const form = await createTestForm(ctx, { enabled: false })
    await expect(submit(form, { email })).rejects.toMatchObject({ code: 'not_found', message: 'Form not found' })
    await deleteForm(ctx, form.id)
    await expect(submit(form, { email })).rejects.toMatchObject({ code: 'not_found', message: 'Form not found' })
    expect(await listEventTypes(ctx)).toEqual([])
  })
})

describe('repeated submissions', () => {
  const key = 'key'

  test('the same key and values are one submission, concurrently and later', async () => {
    const form = await createTestForm(ctx)
    const results = await Promise.all(Array.from({ length: 50 }, () => submit(form, { email }, { repetitionKey: key })))
    results.push(await submit(form, { email: ` ${email}` }, { repetitionKey: key }))
    expect(new Set(results.map(({ submissionId }) => submissionId)).size).toBe(1)
    expect(await submissionsOf(form)).toHaveLength(1)
    expect(await listEventTypes(ctx)).toEqual(['contact.created', 'form.submitted'])
  })

  test('are deduplicated even without a contact whose lock could serialize them', async () => {
    const form = await createTestForm(ctx)
    const repeat = () => submit(form, { message: 'Hello' }, { repetitionKey: key })
    await Promise.all(Array.from({ length: 50 }, repeat))
    expect(await submissionsOf(form)).toHaveLength(1)
    expect(await listEventTypes(ctx)).toEqual(['form.submitted'])
  })

  test('other values, another key, no key or another form is a new submission', async () => {
    const [form, other] = [await createTestForm(ctx), await createTestForm(ctx)]
    await submit(form, { email }, { repetitionKey: key })
    await submit(form, { email, first: 'Ada' }, { repetitionKey: key })
    await submit(form, { email }, { repetitionKey: 'another' })
    await submit(form, { email })
    await submit(form, { email })
    await submit(other, { email }, { repetitionKey: key })
    expect([(await submissionsOf(form)).length, (await submissionsOf(other)).length]).toEqual([5, 1])
  })

  test('do not undo later changes of the contact', async () => {
    const form = await createTestForm(ctx)
    const first = await submit(form, { email, first: 'Ada' }, { repetitionKey: key })
    const { id = newId('con') } = (await findContact()) ?? {}
    const changed = await updateContact(ctx, id, { email: 'new@example.com', firstName: '' })
    expect(await submit(form, { email, first: 'Ada' }, { repetitionKey: key })).toEqual(first)
    expect(await findContact()).toBeUndefined()
    expect(await readContact(ctx, id)).toEqual(changed)
  })
})

describe('form versions', () => {
  test('accepts submissions for the current version only', async () => {
    const form = await createTestForm(ctx)
    const version = computeFormVersion(await findPublicForm(ctx, form.id))
    await updateForm(ctx, form.id, { tags: ['inside'] })
    await submit(form, { email }, { versions: ['x', version] })
    const reworded = fields.map((field) => (field.id === 'news' ? { ...field, label: 'Sell my address' } : field))
    await updateForm(ctx, form.id, FormInput.partial().parse({ fields: reworded }))
    for (const versions of [[version], [''], ['x', version], []]) {
      await expect(submit(form, { email, news: true }, { versions })).rejects.toMatchObject({
        code: 'precondition_failed',
      })
    }
    expect(await submissionsOf(form)).toHaveLength(1)
  })

  test('a submission keeps the wording of its consents when the form changes', async () => {
    const form = await createTestForm(ctx)
    const { submissionId } = await submit(form, { news: true, email })
    await submit(form, { news: false, email })
    await updateForm(ctx, form.id, FormInput.partial().parse({ fields: [{ label: 'Something else', type: 'TEXT' }] }))
    expect(await readSubmission(ctx, { formId: form.id, submissionId })).toMatchObject({
      values: { news: true, email },
      consents: [{ fieldId: 'news', wording: 'Send me the newsletter' }],
    })
    expect((await submissionsOf(form))[0]).toMatchObject({ values: { news: false }, consents: [] })
  })
})
