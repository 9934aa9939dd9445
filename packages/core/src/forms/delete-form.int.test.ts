import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { createTestContact, createTestForm } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { type ContactId, type FormId, idOf, uuidOf } from '../kernel/ids.ts'
import { countForms, deleteForm, findPublicForm, listForms, readForm } from './forms.ts'
import { FormQuery } from './forms.schema.ts'
import { listSubmissionsOfContact } from './list-submissions-of-contact.ts'
import { purgeForms } from './purge-submissions.ts'
import { deleteSubmission, listSubmissions, readSubmission } from './submissions.ts'
import { SubmissionQuery } from './submissions.schema.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const missing = { code: 'not_found', message: 'Form not found' }

/** Inserts submissions of a contact. Returns the id of one. */
async function insertSubmissions(of: { formId: FormId; contactId: ContactId; count: number }) {
  const { rows } = await ctx.db.execute<{ id: string }>(sql`
    insert into form_submissions (workspace_id, id, form_id, contact_id, "values", consents)
    select ${uuidOf(ctx.workspaceId)}, uuidv7(), ${uuidOf(of.formId)}, ${uuidOf(of.contactId)}, '{}', '[]'
    from generate_series(1, ${of.count}::int) returning id`)
  return idOf('sub', rows[0]?.id ?? '')
}

test('a form with many submissions is hidden at once and deleted in small steps', async () => {
  const [form, other] = [await createTestForm(ctx), await createTestForm(ctx)]
  const { id: contactId } = await createTestContact(ctx)
  const submissionId = await insertSubmissions({ formId: form.id, contactId, count: 2_500 })
  await insertSubmissions({ formId: other.id, contactId, count: 1 })
  await deleteForm(ctx, form.id)
  const key = { formId: form.id, submissionId }
  for (const use of [
    () => readForm(ctx, form.id),
    () => deleteForm(ctx, form.id),
    () => findPublicForm(ctx, form.id),
    () => listSubmissions(ctx, form.id, SubmissionQuery.parse({})),
    () => readSubmission(ctx, key),
    () => deleteSubmission(ctx, key),
  ])
    await expect(use()).rejects.toMatchObject(missing)
  expect(await countForms(ctx)).toBe(1)
  expect((await listForms(ctx, FormQuery.parse({}))).data).toEqual([other])
  expect((await listSubmissionsOfContact(ctx, contactId, { limit: 50 })).data).toMatchObject([{ formId: other.id }])

  expect(await purgeForms(ctx.db)).toBe(0)
  await ctx.db.execute(sql`update forms set deleted_at = now() - interval '1 hour' where deleted_at is not null`)
  const steps = []
  for (let count = -1; count !== 0; steps.push(count)) count = await purgeForms(ctx.db)
  expect(steps).toEqual([1_000, 1_000, 500, 1, 0])
  expect((await listSubmissions(ctx, other.id, SubmissionQuery.parse({}))).data).toHaveLength(1)
})
