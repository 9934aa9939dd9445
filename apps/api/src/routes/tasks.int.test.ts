import type { Me } from '@rapport/core/auth/auth.schema.ts'
import type { Contact } from '@rapport/core/contacts/contacts.schema.ts'
import type { Page } from '@rapport/core/request/paging.ts'
import type { Task } from '@rapport/core/tasks/tasks.schema.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { anId, aTimestamp, expectError, freshEmail, startTestApi } from '../../test/testing.ts'

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())
let contact: Contact
let task: Task
beforeAll(async () => {
  contact = await api.create('/contacts', workspace.key, { email: freshEmail() })
})
beforeEach(async () => {
  task = await api.create(`/contacts/${contact.id}/tasks`, workspace.key, { title: 'Call' })
})

const get = <Body>(path: string) => api.call<Body>('GET', path, { key: workspace.key })
const post = (body: unknown, contactId: string = contact.id) =>
  api.call<Task>('POST', `/contacts/${contactId}/tasks`, { key: workspace.key, body })
const patch = (body: unknown) => api.call<Task>('PATCH', `/tasks/${task.id}`, { key: workspace.key, body })

test('POST /contacts/{contactId}/tasks, GET /tasks/{id}: only the title is required', async () => {
  const response = await post({ title: ' Call ' })
  expect(response).toMatchObject({ status: 201, headers: { location: `/tasks/${response.body.id}` } })
  expect(response.body).toEqual({
    id: anId('tsk'),
    contactId: contact.id,
    title: 'Call',
    notes: '',
    status: 'OPEN',
    dueAt: null,
    assigneeId: null,
    completedAt: null,
    createdAt: aTimestamp,
    updatedAt: aTimestamp,
  })
  const { body: me } = await api.call<Me>('GET', '/auth/me', { key: workspace.token })
  const given = { title: 'Call', notes: 'first line\n\tsecond line', assigneeId: me.user?.id }
  expect((await post({ ...given, dueAt: '2026-11-27' })).body.dueAt).toBe('2026-11-27T00:00:00.000Z')
  const full = await post({ ...given, dueAt: '2026-11-27T10:00:00+01:00' })
  expect(full.body).toMatchObject({ ...given, dueAt: '2026-11-27T09:00:00.000Z' })
  expect((await get(`/tasks/${full.body.id}`)).body).toEqual(full.body)
})

const badValues: [string, unknown][] = [
  ['title', undefined],
  ['title', ''],
  ['title', ' \u00a0 '],
  ['title', 'x'.repeat(301)],
  ['title', 'x'.repeat(10_240)],
  ['title', 'a\nb'],
  ['title', null],
  ['title', ['Call']],
  ['notes', 'x'.repeat(20_001)],
  ['notes', 'a\u0001b'],
  ['notes', 5],
  ['dueAt', 'tomorrow'],
  ['dueAt', '2026-11-31'],
  ['dueAt', '2026-11-27T09:00:00'],
  ['dueAt', '0000-00-00T00:00:00Z'],
  ['dueAt', '+275760-09-13T00:00:00Z'],
  ['dueAt', '2026-02-30T00:00:00Z'],
  ['dueAt', '9999-12-31T23:59:59-12:00'],
  ['dueAt', 1_700_000_000],
  ['assigneeId', 'usr_x'],
  ['assigneeId', 'usr_01kag7m3v9e8fs2t4w6x8y0z1b'],
  ['assigneeId', ''],
  ['completedAt', null],
  ['contactId', 'con_01kag7m3v9e8fs2t4w6x8y0z1b'],
]
test.each(badValues)('creating or updating a task with %s %j returns 400 and names the field', async (path, value) => {
  expect(expectError(await post({ title: 'Call', [path]: value }), 400).issues).toMatchObject([{ path }])
  if (value === undefined) return
  expect(expectError(await patch({ [path]: value }), 400).issues).toMatchObject([{ path }])
  expect((await get(`/tasks/${task.id}`)).body).toEqual(task)
})

test('a task of an unknown contact returns 404', async () => {
  for (const id of ['con_01kag7m3v9e8fs2t4w6x8y0z1b', 'unknown', task.id]) {
    expectError(await post({ title: 'Call' }, id), 404, 'Contact not found')
    expectError(await get(`/contacts/${id}/tasks`), 404, 'Contact not found')
  }
})

test('PATCH and DELETE /tasks/{id}: completed, reopened and deleted', async () => {
  const done = { ...task, status: 'DONE', completedAt: aTimestamp, updatedAt: aTimestamp }
  expect((await patch({ status: 'DONE' })).body).toEqual(done)
  expect((await patch({ status: 'OPEN' })).body).toMatchObject({ status: 'OPEN', completedAt: null })
  for (const invalid of [{ status: 'done' }, { notes: null }]) expectError(await patch(invalid), 400)
  const remove = () => api.call('DELETE', `/tasks/${task.id}`, { key: workspace.key })
  expect(await remove()).toMatchObject({ status: 204, text: '' })
  expectError(await remove(), 404, 'Task not found')
  expectError(await patch({ title: 'a' }), 404, 'Task not found')
})

test('GET /contacts/{contactId}/tasks: of one contact only, overdue tasks first', async () => {
  const other = await api.create<Contact>('/contacts', workspace.key, { email: freshEmail() })
  await post({ title: 'later' }, other.id)
  await post({ title: 'overdue', dueAt: '2001-01-01T00:00:00Z' }, other.id)
  const { body } = await get<Page<Task>>(`/contacts/${other.id}/tasks`)
  expect(body.data.map(({ title }) => title)).toEqual(['overdue', 'later'])
  const { body: first } = await get<Page<Task>>(`/contacts/${other.id}/tasks?limit=1`)
  expectError(await get(`/contacts/${contact.id}/tasks?cursor=${first.nextCursor}`), 400, 'Invalid cursor')
  expectError(await get(`/tasks?cursor=${first.nextCursor}`), 400, 'Invalid cursor')
})

test.each([
  'status=LATE',
  'dueBefore=now',
  'dueAfter=later',
  'assigneeId=me',
  'sort=title',
  'sort=due_at',
  'contactId=x',
])('GET /tasks?%s returns 400 and names the parameter', async (query) => {
  const { issues } = expectError(await get(`/tasks?${query}`), 400)
  expect(issues?.[0]?.path).toBe(query.split('=')[0])
})
