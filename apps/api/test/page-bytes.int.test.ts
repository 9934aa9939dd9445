/** Pages of the largest records that the API accepts. */
import { eventTypes } from '@rapport/core/events/event-definition.ts'
import { addTestMember } from '@rapport/testing/fixtures/listing-rows.ts'
import { runTestImport } from '@rapport/testing/fixtures/imports.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { Id } from '@rapport/core/kernel/ids.ts'
import { beforeAll, expect, test } from 'vitest'
import { createParents, pathOf, readListingTemplates, recordMakers, waitForFeed } from './listings.ts'
import { expectError, type Json, startTestApi } from './testing.ts'

const maxPageBytes = 8_000_000
const recordsPerPage = 100

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())
const fixture = useForFile(() => createParents(api, workspace))
const create = (path: string, body: unknown) => api.create(path, workspace.key, body)
const patch = (path: string, body: Json) => api.call('PATCH', path, { key: workspace.token, body })

const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value))
/** The most bytes that a text of this length can have. */
const wide = (length: number, end: number | string = '') => String(end).padStart(length, '€')
const many = <Item>(count: number, make: (n: number) => Item) => Array.from({ length: count }, (_, n) => make(n))
/** Makes a value of as many bytes as fit, by the length of one of its texts. */
const fill = <Value>(bytes: number, make: (text: string) => Value) =>
  make(wide(Math.floor((bytes - bytesOf(make(''))) / 3)))
/** JSON has two characters for a line break. */
const notes = `x${'\n'.repeat(16_382)}x`

let people = 0
/** An address of 254 characters. */
const longEmail = () => `${String((people += 1)).padStart(64, 'a')}@${`${'b'.repeat(61)}.`.repeat(3)}com`

const choice = 'choice'.padEnd(63, 'x')
const customFieldValues = fill(16_384, (c2) => ({ c0: wide(2_000), c1: wide(2_000), c2 }))
const contact = {
  firstName: wide(200),
  lastName: wide(200),
  phone: '1'.repeat(32),
  company: wide(200),
  source: wide(205),
  tags: many(100, (n) => wide(100, n)),
  customFieldValues,
}
const { tags, phone } = contact
const company = { name: wide(200), website: `https://example.com/${wide(2_028)}`, phone, tags, customFieldValues }
const task = { title: wide(300), notes }
const list = { name: wide(200), description: notes }
const fields = fill(32_768, (label) => [
  { id: 'email', label: 'Email', type: 'EMAIL', required: false, mapsTo: 'email' },
  { id: 'message', label: 'Message', type: 'TEXTAREA', required: false },
  ...many(5, (n) => ({ id: `c${n}`, label: wide(2_000, n), type: 'CONSENT', required: false })),
  { id: 'c5', label: `x${label}`, type: 'CONSENT', required: false },
])
const form = {
  name: wide(200),
  fields,
  tags: contact.tags,
  successMessage: wide(2_000),
  redirectUrl: `https://example.com/${wide(2_028)}`,
}
const values = fill(32_768, (message) => ({
  ...Object.fromEntries(many(6, (n) => [`c${n}`, true])),
  email: longEmail(),
  message,
}))
const filter = fill(65_536, (eq) => ({
  all: [
    { field: 'company', in: many(100, (n) => wide(200, n)) },
    { field: 'company', eq: `x${eq}` },
  ],
}))
const pipeline = { name: wide(200), stages: many(100, (n) => ({ name: wide(200, n), winProbability: 100 })) }

const note = () => ({ body: notes, contactId: fixture.parents['contacts'] })
const addTask = () => create(`/contacts/${fixture.parents['contacts']}/tasks`, task)
const addContact = () => create('/contacts', { ...contact, email: longEmail() })
const submitForm = (given: Json = values) =>
  api.call('POST', `/public/forms/${fixture.parents['forms']}/submit`, { body: { values: given } })

/** Adds the largest record of each listing. */
const largestRecords: Record<string, () => Promise<unknown>> = {
  '/contacts': addContact,
  async '/contacts/{id}/activity'() {
    const { body } = await patch(`/contacts/${fixture.parents['contacts']}`, contact)
    await submitForm({ ...values, email: body['email'] })
  },
  '/companies': () => create('/companies', company),
  '/companies/{id}/contacts': () =>
    create('/contacts', { ...contact, email: longEmail(), companyId: fixture.parents['companies'] }),
  '/companies/{id}/activity': () => patch(`/companies/${fixture.parents['companies']}`, company),
  '/contacts/{contactId}/tasks': addTask,
  '/tasks': addTask,
  '/notes': () => create('/notes', note()),
  '/lists': () => create('/lists', list),
  '/suppressions': () => create('/suppressions', { email: longEmail(), reason: 'MANUAL', note: wide(1_000) }),
  '/segments': () => create('/segments', { name: wide(200), filter }),
  '/segments/{id}/contacts': addContact,
  '/lists/{id}/subscribers': async () =>
    create(`/lists/${fixture.parents['lists']}/subscribers`, { contactId: (await addContact())['id'] }),
  '/webhooks': () => create('/webhooks', { url: `https://example.com/${'a'.repeat(2_028)}`, eventTypes }),
  async '/webhooks/{id}/deliveries'() {
    await recordMakers['/webhooks/{id}/deliveries']?.(fixture)
    await api.query('update deliveries set response_body = repeat(chr(1), 4096)')
  },
  '/domains': () => create('/domains', { name: `${'a'.repeat(50)}.${'b'.repeat(50)}.${'c'.repeat(50)}.example.com` }),
  '/api-keys': () => create('/api-keys', { name: wide(200) }),
  '/mail-hooks': () => create('/mail-hooks', { provider: 'mailgun', secret: 'key-0123456789abcdef' }),
  '/campaigns': () =>
    create('/campaigns', {
      name: wide(200),
      subject: wide(300),
      fromName: wide(200),
      replyTo: longEmail(),
      listId: fixture.parents['lists'],
      html: 'x'.repeat(500_000),
      text: 'x'.repeat(500_000),
    }),
  '/templates': () =>
    create('/templates', {
      name: wide(200),
      subject: wide(300),
      fromName: wide(200),
      replyTo: longEmail(),
      html: 'x'.repeat(260_000),
      variables: [{ name: 'text', type: 'TEXT', example: 'x'.repeat(16_000) }],
      ground: 'REQUEST',
    }),
  '/custom-fields': () =>
    create('/custom-fields', {
      key: choice,
      label: wide(200),
      type: 'SELECT',
      options: many(200, (n) => wide(100, n)),
    }),
  '/invites': () => create('/invites', { email: longEmail(), role: 'VIEWER' }),
  async '/members'() {
    await addTestMember(api.database.db, Id('wsp').parse(workspace.id), longEmail())
    await api.query('update users set name = $1', [wide(200)])
  },
  '/audit-log': () =>
    patch('/workspace', {
      name: wide(200),
      fromName: wide(200),
      postalAddress: wide(2_000),
      logoUrl: `https://example.com/${wide(2_028)}`,
    }),
  '/imports': () =>
    runTestImport(api.ctx(workspace.id), [`email,${choice}`, ...many(101, (n) => `p${n}@example.com,x`)].join('\n')),
  '/forms': () => create('/forms', form),
  '/forms/{id}/submissions': () => submitForm(),
  '/pipelines': () => create('/pipelines', pipeline),
  '/deals': async () => {
    const contactId = fixture.parents['contacts']
    const { id, stages } = (await create('/pipelines', pipeline)) as { id: string; stages: { id: string }[] }
    return create('/deals', { name: wide(200), contactId, pipelineId: id, stageId: stages[0]?.id })
  },
}

/** The listings of ids, times and short texts, and of the events of the records above. */
const otherListings = [
  '/emails',
  '/sessions',
  '/workspaces',
  '/campaigns/{id}/recipients',
  '/deals/{id}/activity',
  '/events',
  '/event-types',
]

beforeAll(async () => {
  for (const object of ['CONTACT', 'COMPANY'])
    for (const key of ['c0', 'c1', 'c2']) await create('/custom-fields', { object, key, label: 'Text', type: 'TEXT' })
  fixture.parents['forms'] = String((await create('/forms', form))['id'])
  for (const make of Object.values(largestRecords)) await make()
  await waitForFeed(api)
})

async function readAll(template: string): Promise<Json[]> {
  const records: Json[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const path: string = `${pathOf(template, fixture)}?limit=100${cursor && `&cursor=${cursor}`}`
    const { body }: { body: { data: Json[]; nextCursor: string | null } } = await api.call('GET', path, {
      key: workspace.token,
    })
    records.push(...body.data)
    cursor = body.nextCursor
  }
  return records
}

test('a page of 100 of the largest records of any listing is smaller than 8 MB', async () => {
  const templates = await readListingTemplates(api)
  const sizes: [string, number][] = []
  for (const template of templates) {
    const records = await readAll(template)
    sizes.push([template, recordsPerPage * Math.max(0, ...records.map(bytesOf))])
  }
  expect(sizes.filter(([, size]) => size >= maxPageBytes)).toEqual([])
  expect(templates.toSorted()).toEqual([...Object.keys(largestRecords), ...otherListings].toSorted())
})

const largerRecords: [field: string, path: string, body: () => Json][] = [
  [
    'customFieldValues',
    '/contacts',
    () => ({ email: longEmail(), customFieldValues: { ...customFieldValues, c2: `${customFieldValues.c2}xxx` } }),
  ],
  ['notes', '/contacts/{contactId}/tasks', () => ({ ...task, notes: `${notes}x` })],
  ['body', '/notes', () => ({ ...note(), body: `${notes}x` })],
  ['description', '/lists', () => ({ ...list, description: `${notes}x` })],
  ['fields', '/forms', () => ({ ...form, fields: [...fields, { label: 'x', type: 'TEXT' }] })],
  ['filter', '/segments', () => ({ name: 'x', filter: { all: [filter, { field: 'company', eq: 'x' }] } })],
  ['message', '/public/forms/{id}/submit', () => ({ values: { ...values, message: `${values['message']}xxx` } })],
]
test.each(largerRecords)('a larger record is an error of its field %s', async (field, path, body) => {
  const url = path.startsWith('/public') ? `/public/forms/${fixture.parents['forms']}/submit` : pathOf(path, fixture)
  const response = await api.call('POST', url, { key: workspace.key, body: body() })
  expectError(response, 400)
  expect(response.body['issues']).toMatchObject([{ path: field }])
})

const largerBodies = new Map(largerRecords.map(([field, , body]) => [field, body]))
const changedFields: [path: string, field: string][] = [
  ['/contacts', 'customFieldValues'],
  ['/tasks', 'notes'],
  ['/notes', 'body'],
  ['/lists', 'description'],
  ['/forms', 'fields'],
  ['/segments', 'filter'],
]
test.each(changedFields)('%s: a change to a larger %s is an error of the field', async (path, field) => {
  const [{ id } = {}] = await readAll(path)
  const response = await patch(`${path}/${String(id)}`, { [field]: largerBodies.get(field)?.()[field] })
  expectError(response, 400)
  expect(response.body['issues']).toMatchObject([{ path: field }])
})
