/** Forms: routes of the contract without a test elsewhere. */
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { aTimestamp, anId, freshEmail, startTestApi } from '../testing.ts'

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())
const read = async (path: string) => (await api.call('GET', path, workspace)).body

const fields = [
  { id: 'email', label: 'Email', type: 'EMAIL', required: true, mapsTo: 'email' },
  { id: 'news', label: 'Send me the newsletter', type: 'CONSENT', required: false },
]

test('GET /forms/{id}/submissions: with the wording of each consent', async () => {
  const form = await api.create<{ id: string }>('/forms', workspace.key, { name: 'Contact us', fields })
  const body = { values: { email: freshEmail(), news: true } }
  const { submissionId } = (await api.call('POST', `/public/forms/${form.id}/submit`, { body })).body
  const path = `/forms/${form.id}/submissions/${String(submissionId)}`
  const submission = await read(path)
  expect(submission).toMatchObject({
    id: submissionId,
    formId: form.id,
    contactId: anId('con'),
    values: { news: true },
    consents: [{ fieldId: 'news', wording: 'Send me the newsletter' }],
    createdAt: aTimestamp,
  })
  expect(await read(`/forms/${form.id}/submissions`)).toEqual({ data: [submission], nextCursor: null })
})

test('GET /embed/form.js: one small script', async () => {
  const script = await api.call('GET', '/embed/form.js?v=2')
  expect(script.headers['content-type']).toMatch(/javascript/)
  expect(script.text).toContain('rapport-form')
})
