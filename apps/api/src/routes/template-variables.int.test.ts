import type { Campaign } from '@rapport/core/campaigns/campaigns.schema.ts'
import type { List } from '@rapport/core/lists/lists.schema.ts'
import type { TemplateVariables } from '@rapport/core/rendering/template-variables.schema.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeAll, describe, expect, test } from 'vitest'
import { expectError, freshEmail, startTestApi, type TestWorkspace } from '../../test/testing.ts'

const api = useForFile(() => startTestApi())
let ada: TestWorkspace
let eve: TestWorkspace
let list: List
let fieldId: string
beforeAll(async () => {
  ;[ada, eve] = [await api.signUp(), await api.signUp()]
  list = await api.create<List>('/lists', ada.key, { name: 'Newsletter' })
  await api.create(`/lists/${list.id}/subscribers`, ada.key, { email: freshEmail(), status: 'CONFIRMED' })
  const fields = [
    { key: 'plan', label: 'Plan', type: 'SELECT', options: ['free', 'pro'] },
    { key: 'seats', label: 'Seats', type: 'NUMBER' },
    { key: 'email', label: 'Second email', type: 'TEXT' },
  ]
  for (const field of fields) fieldId = String((await api.create('/custom-fields', ada.key, field))['id'])
})

const input = (given: Record<string, unknown>) => ({ name: 'November', subject: 'News', listId: list.id, ...given })
const create = (given: Record<string, unknown>) => api.create<Campaign>('/campaigns', ada.key, input(given))
const post = (path: string, body?: unknown) =>
  api.call('POST', path, { key: ada.key, ...(body !== undefined && { body }) })
const listVariables = async (key: string) =>
  (await api.call<TemplateVariables>('GET', '/template-variables', { key })).body

/** The workspace has no address, and the example contact no locale. */
const maybeEmpty = ['workspace.postalAddress', 'contact.locale']

describe('GET /template-variables', () => {
  test('lists variables, the custom fields of the workspace, and filters on one page', async () => {
    const { data, nextCursor } = await listVariables(ada.key)
    expect(nextCursor).toBe(null)
    expect(data[0]).toEqual({
      kind: 'VARIABLE',
      name: 'contact.id',
      type: 'TEXT',
      description: expect.any(String),
      example: '{{ contact.id }}',
      output: expect.any(String),
    })
    const byName = new Map(data.map((item) => [item.name, item]))
    expect(byName.get('contact.customFieldValues.plan')).toMatchObject({ type: 'TEXT', output: 'free' })
    expect(byName.get('contact.customFieldValues.seats')).toMatchObject({ type: 'NUMBER', output: '42' })
    expect(byName.get('upcase')).toMatchObject({ kind: 'FILTER', example: '{{ "Ada" | upcase }}', output: 'ADA' })
    expect(byName.size).toBe(data.length)
    expect((await listVariables(eve.key)).data.map(({ name }) => name)).toEqual(
      data.map(({ name }) => name).filter((name) => !name.startsWith('contact.customFieldValues.')),
    )
  })

  test('every example can be saved, and a preview shows its output', async () => {
    const { data } = await listVariables(ada.key)
    const shown = data.filter(({ kind, name }) => kind === 'FILTER' || name.startsWith('contact.'))
    const { id } = await create({ text: data.map(({ example }) => example).join('\n¦\n') })
    const preview = await post(`/campaigns/${id}/preview`)
    const outputs = String(preview.body['text']).split('\n¦\n')
    const byName = new Map(data.map(({ name }, index) => [name, outputs[index]]))
    for (const { name, output } of shown) expect([name, byName.get(name)?.split('\n\n--')[0]]).toEqual([name, output])
    for (const { name } of data.filter(({ kind }) => kind === 'VARIABLE'))
      expect(`${name} ${byName.get(name)}`).toMatch(maybeEmpty.includes(name) ? / $/ : / ./)
  })
})

describe('a template with unknown names', () => {
  test('returns 400 when it is saved, with an issue for each, and changes nothing', async () => {
    const draft = await create({ html: '<p>Hi</p>' })
    const body = {
      subject: '{{ contact.frstName }}',
      html: '<p>\n{{ contact.customFieldValues.plam | upcasse }}',
      text: '{{ contact.palntype }}',
    }
    for (const response of [
      await post('/campaigns', input(body)),
      await api.call('PATCH', `/campaigns/${draft.id}`, { key: ada.key, body }),
    ]) {
      const { message, issues } = expectError(response, 400)
      expect(response.body['code']).toBe('validation_error')
      expect(message).toBe(
        'subject: unknown variable "contact.frstName" at line 1, column 4 (did you mean "contact.firstName"?)',
      )
      expect(issues).toEqual([
        { path: 'subject', message: message.replace('subject: ', '') },
        {
          path: 'html',
          message:
            'unknown variable "contact.customFieldValues.plam" at line 2, column 4 (did you mean "contact.customFieldValues.plan"?)',
        },
        { path: 'html', message: 'unknown filter "upcasse" at line 2, column 37 (did you mean "upcase"?)' },
        { path: 'text', message: 'unknown variable "contact.palntype" at line 1, column 4' },
      ])
    }
    expect((await api.call('GET', `/campaigns/${draft.id}`, { key: ada.key })).body).toEqual(draft)
  })

  test('of another workspace are neither known nor suggested', async () => {
    const { id } = await api.create<List>('/lists', eve.key, { name: 'Newsletter' })
    const response = await api.call('POST', '/campaigns', {
      key: eve.key,
      body: { ...input({ text: '{{ contact.plan }}{{ contact.customFieldValues.seat }}' }), listId: id },
    })
    expect(expectError(response, 400).issues?.map(({ message }) => message)).toEqual([
      'unknown variable "contact.plan" at line 1, column 4',
      'unknown variable "contact.customFieldValues.seat" at line 1, column 22',
    ])
  })

  test('that was saved before renders as empty, and returns 409 at send', async () => {
    const draft = await create({ name: 'Old', text: 'Hello' })
    await api.query(`update campaigns set text = $1 where name = 'Old'`, ['Hello [{{ nothing | at_all }}]'])
    const preview = await post(`/campaigns/${draft.id}/preview`)
    expect(preview.body['text']).toMatch(/^Hello \[\]/)
    const response = await post(`/campaigns/${draft.id}/send`)
    expect(expectError(response, 409).issues?.map(({ path }) => path)).toEqual(['text', 'text'])
    expect(response.body['code']).toBe('wrong_state')
  })

  test('because a custom field was deleted returns 409 at send, and names the field', async () => {
    const draft = await create({ text: 'Hello {{ contact.customFieldValues.email }}' })
    await api.call('DELETE', `/custom-fields/${fieldId}`, { key: ada.key })
    expect(expectError(await post(`/campaigns/${draft.id}/send`), 409).message).toMatch(
      /^text: unknown variable "contact.customFieldValues.email" at line 1, column 10/,
    )
    expect(expectError(await post(`/campaigns/${draft.id}/send`, {}), 409).issues).toHaveLength(1)
    await api.call('PATCH', `/campaigns/${draft.id}`, { key: ada.key, body: { text: 'Hello' } })
    expect(await post(`/campaigns/${draft.id}/send`)).toMatchObject({ status: 202, body: { queued: 1 } })
  })
})

test('an empty subject returns 409 at send, and 400 in the preview and the test email', async () => {
  const { id } = await create({ subject: '{% if contact.tags contains "none" %}News{% endif %}' })
  const message = 'The template cannot be rendered: the subject is empty for this contact'
  const issues = [{ path: 'subject', message }]
  expect(expectError(await post(`/campaigns/${id}/send`), 409, message).issues).toEqual(issues)
  expect(expectError(await post(`/campaigns/${id}/preview`), 400, message).issues).toEqual(issues)
  expect(expectError(await post(`/campaigns/${id}/send-test`, { email: 'a@example.com' }), 400).issues).toEqual(issues)
  expect((await api.call('GET', `/campaigns/${id}`, { key: ada.key })).body).toMatchObject({ status: 'DRAFT' })
})

test('the unsubscribe link of a test email shows a page and changes nothing', async () => {
  const contact = await api.create('/contacts', ada.key, { email: freshEmail() })
  await api.create(`/lists/${list.id}/subscribers`, ada.key, { contactId: contact['id'], status: 'CONFIRMED' })
  const { id } = await create({ text: 'Hello {{ unsubscribeUrl }}' })
  const preview = await post(`/campaigns/${id}/preview`, { contactId: contact['id'] })
  const path = /\/public\/unsubscribe\?token=\S+/.exec(String(preview.body['text']))?.[0] ?? ''
  for (const method of ['GET', 'POST']) {
    const page = await api.call(method, path)
    expect([page.status, page.text]).toEqual([200, expect.stringContaining('This is a test email')])
    expect(page.text).toContain('The link does nothing')
  }
  const subscriber = await api.call('GET', `/lists/${list.id}/subscribers?status=CONFIRMED`, { key: ada.key })
  expect(subscriber.text).toContain(String(contact['id']))
})

test('send, preview and retry need no body, also with a JSON content type', async () => {
  const { id } = await create({ html: '<p>Hi</p>' })
  const headers = { 'content-type': 'application/json' }
  for (const step of ['preview', 'send', 'retry']) {
    const path = `/campaigns/${id}/${step}`
    const statuses = [(await api.call('POST', path, { key: ada.key, headers })).status, (await post(path)).status]
    // The second `send` is a conflict.
    expect([step, statuses]).toEqual([step, { preview: [200, 200], send: [202, 409], retry: [202, 202] }[step]])
  }
})

test('GET /campaigns filters by status, listId and search, and leaves templates out', async () => {
  const other = await api.create<List>('/lists', ada.key, { name: 'Other' })
  const summer = await create({ name: 'Sommer 100% Größe', listId: other.id, html: '<p>Hi</p>' })
  const winter = await create({ name: 'Winter', subject: 'Schnee_fall' })
  const find = async (query: string) => {
    const { body } = await api.call<{ data: Campaign[] }>('GET', `/campaigns?${query}`, { key: ada.key })
    return body.data.map(({ id }) => id)
  }
  expect(await find(`listId=${other.id}`)).toEqual([summer.id])
  expect(await find('search=grosse')).toEqual([summer.id])
  expect(await find('search=100%25')).toEqual([summer.id])
  expect(await find('search=SCHNEE_')).toEqual([winter.id])
  expect(await find('search=c%25e_f')).toEqual([])
  expect(await find(`search=schnee&listId=${other.id}`)).toEqual([])
  expect(await find('status=DRAFT&search=winter')).toEqual([winter.id])
  expect(await find('status=PAUSED')).toEqual([])
  expect(await find(`listId=lst_01kag7m3v9e8fs2t4w6x8y0z1b`)).toEqual([])
  expectError(await api.call('GET', '/campaigns?status=draft', { key: ada.key }), 400)
  const { body } = await api.call('GET', `/campaigns?listId=${other.id}`, { key: ada.key })
  const { html: _, text: __, ...summary } = summer
  expect(body['data']).toEqual([summary])
})
