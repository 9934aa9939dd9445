import type { ContactBatchResults } from '@rapport/core/contacts/batch/contact-batch.schema.ts'
import type { Contact } from '@rapport/core/contacts/contacts.schema.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { expectError, freshEmail, startTestApi } from '../../test/testing.ts'

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())

const send = (body: unknown, headers: Record<string, string> = {}) =>
  api.call<ContactBatchResults>('POST', '/contacts/batch', { key: workspace.key, body, headers })
const find = async (email: string) =>
  (await api.call<{ data: Contact[] }>('GET', `/contacts?email=${email}`, { key: workspace.key })).body.data

test('POST /contacts/batch: results in order, with the contacts as GET shows them', async () => {
  const known = await api.create<Contact>('/contacts', workspace.key, { email: freshEmail() })
  const entries = [
    { email: freshEmail(), tags: ['vip'] },
    { email: known.email, firstName: 'Ada' },
  ]
  const { status, body } = await send({
    contacts: [...entries, { email: 'not an address' }],
    onConflict: 'update',
  })
  expect(status).toBe(200)
  expect(body.results.map((result) => result.status)).toEqual(['CREATED', 'UPDATED', 'FAILED'])
  for (const result of body.results) {
    if (result.status === 'FAILED') continue
    const { text } = await api.call('GET', `/contacts/${result.contact.id}`, { key: workspace.key })
    expect(JSON.stringify(result.contact)).toBe(text)
  }
  expect(Object.keys(body.results[2] ?? {})).toEqual(['status', 'code', 'message', 'issues'])
  const skipped = await send({ contacts: entries, onConflict: 'skip' })
  expect(skipped.body.results).toEqual([
    { ...body.results[0], status: 'SKIPPED' },
    { ...body.results[1], status: 'SKIPPED' },
  ])
})

test.each<[unknown, path: string]>([
  [{}, 'contacts'],
  [{ contacts: {} }, 'contacts'],
  [{ contacts: null }, 'contacts'],
  [{ contacts: [] }, 'contacts'],
  [{ contacts: Array.from({ length: 101 }, () => ({ email: 'ada@example.com' })) }, 'contacts'],
  [{ contacts: [{ email: 'ada@example.com' }], onConflict: 'merge' }, 'onConflict'],
  [{ contacts: [{ email: 'ada@example.com' }], on_conflict: 'skip' }, 'on_conflict'],
  [[{ email: 'ada@example.com' }], ''],
])('%# a body that is not a batch is a 400 and writes nothing', async (body, path) => {
  const { issues } = expectError(await send(body), 400)
  expect(issues?.[0]?.path).toBe(path)
  expect(await find('ada@example.com')).toEqual([])
})

test('hostile entries fail alone, and the response stays small', async () => {
  const email = freshEmail()
  const hostile: unknown[] = [
    5,
    true,
    [],
    [[[]]],
    '',
    { email: { $ne: 1 } },
    { email, ['x'.repeat(300_000)]: 1 },
    { email, constructor: 1, toString: 2 },
    { email, firstName: 'x'.repeat(300_000) },
    { email, tags: Array.from({ length: 101 }, (_, n) => `tag ${n}`) },
    { email, customFieldValues: { nope: 1 } },
    { email, customFieldValues: { a: { b: 1 } } },
    { email, id: 'con_01kag7m3v9e8fs2t4w6x8y0z1b' },
  ]
  const response = await send({ contacts: [...hostile, { email }] })
  const { results } = response.body
  expect(results.map(({ status }) => status)).toEqual([...hostile.map(() => 'FAILED'), 'CREATED'])
  expect(results.slice(0, -1)).toMatchObject(hostile.map(() => ({ code: 'validation_error' })))
  expect(response.text.length).toBeLessThan(10_000)
})

test('the whole response is replayed for the same Idempotency-Key', async () => {
  const body = { contacts: [{ email: freshEmail() }, { email: 'broken' }] }
  const key = { 'idempotency-key': freshEmail() }
  const first = await send(body, key)
  const second = await send(body, key)
  expect(first.body.results.map(({ status }) => status)).toEqual(['CREATED', 'FAILED'])
  expect(second).toMatchObject({ status: 200, text: first.text, headers: { 'idempotent-replayed': 'true' } })
  expectError(await send({ ...body, onConflict: 'skip' }, key), 422)
  const [again] = (await send(body)).body.results
  expect(again).toMatchObject({ status: 'FAILED', code: 'already_exists' })
  const events = await api.query(`select type from events where data ->> 'email' = $1`, [body.contacts[0]?.email])
  expect(events).toEqual([{ type: 'contact.created' }])
})

test('a batch larger than 1 MiB is a 413', async () => {
  const contacts = Array.from({ length: 100 }, () => ({ email: freshEmail(), firstName: 'x'.repeat(11_000) }))
  expectError(await send({ contacts }), 413)
})
