import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { expectError, freshEmail, type Json, startTestApi, type TestWorkspace } from '../testing.ts'

const api = useForFile(() => startTestApi())
let workspace: TestWorkspace
beforeEach(async () => {
  workspace = await api.signUp()
})

const call = (method: string, path: string, body?: Json) =>
  api.call(method, path, { key: workspace.key, ...(body && { body }) })
const create = (path: string, body: Json) => api.create<{ id: string }>(path, workspace.key, body)
const emailsAt = async (path: string) => {
  const { status, body } = await call('GET', path)
  expect(status).toBe(200)
  return (body['data'] as { email: string }[]).map(({ email }) => email)
}
const withFilter = (filter: unknown) => `filter=${encodeURIComponent(JSON.stringify(filter))}`

test('POST and GET /segments, GET, PATCH and DELETE /segments/{id}: saved filters', async () => {
  const filter = { all: [{ field: 'company', eq: 'Acme' }, { not: { tags: { has: 'vip' } } }] }
  const created = await call('POST', '/segments', { name: 'Acme', filter })
  const id = String(created.body['id'])
  expect(created).toMatchObject({ status: 201, body: { name: 'Acme', filter } })
  expect(created.headers['location']).toBe(`/segments/${id}`)
  expect((await call('GET', `/segments/${id}`)).body).toEqual(created.body)
  expect((await call('GET', '/segments?search=acm')).body).toMatchObject({ data: [{ id }] })
  const repeated = await call('PATCH', `/segments/${id}`, { name: 'Acme', filter })
  expect(repeated.body).toEqual(created.body)
  const changed = await call('PATCH', `/segments/${id}`, { name: 'Not Acme', filter: { not: filter } })
  expect(changed).toMatchObject({ status: 200, body: { name: 'Not Acme', filter: { not: filter } } })
  expect((await call('DELETE', `/segments/${id}`)).status).toBe(204)
  expectError(await call('GET', `/segments/${id}`), 404, 'Segment not found')
})

test('GET /segments/{id}/contacts, GET /contacts: only contacts of the segment', async () => {
  const [acme, other] = [freshEmail(), freshEmail()]
  await create('/contacts', { email: acme, company: 'Acme', firstName: 'Ada' })
  await create('/contacts', { email: other, company: 'Other', firstName: 'Ada' })
  const { id } = await create('/segments', { name: 'Acme', filter: { field: 'company', eq: 'Acme' } })
  expect(await emailsAt(`/segments/${id}/contacts`)).toEqual([acme])
  expect(await emailsAt(`/contacts?segmentId=${id}`)).toEqual([acme])
  expect(await emailsAt(`/contacts?${withFilter({ not: { field: 'company', eq: 'Acme' } })}`)).toEqual([other])
  expect(await emailsAt(`/contacts?segmentId=${id}&search=ada`)).toEqual([acme])
  expect(await emailsAt(`/contacts?segmentId=${id}&${withFilter({ field: 'firstName', ne: 'Ada' })}`)).toEqual([])
  expect((await call('GET', `/segments/${id}/contacts?count=true`)).body).toMatchObject({ total: 1, isEstimate: false })
  const exported = await call('GET', `/contacts/export?segmentId=${id}&format=ndjson`)
  expect(
    exported.text
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { email: string }).email),
  ).toEqual([acme])
})

test('POST /segments/preview: counts the contacts, also for a VIEWER', async () => {
  const email = freshEmail()
  await create('/contacts', { email })
  await create('/contacts', { email: freshEmail(), company: 'Acme' })
  const viewer = await api.create<{ key: string }>('/api-keys', workspace.token, { name: 'Reader', role: 'VIEWER' })
  const body = { filter: { field: 'company', isSet: false } }
  const response = await api.call('POST', '/segments/preview', { key: viewer.key, body })
  expect(response).toMatchObject({ status: 200, body: { count: 1, isEstimate: false, sample: [{ email }] } })
  expectError(await api.call('POST', '/segments', { key: viewer.key, body: { name: 'All', ...body } }), 403)
})

test('a campaign with a segment is sent to the subscribers who match it', async () => {
  const { id: listId } = await create('/lists', { name: 'News' })
  for (const company of ['Acme', 'Acme', 'Other']) {
    const { id: contactId } = await create('/contacts', { email: freshEmail(), company })
    await create(`/lists/${listId}/subscribers`, { contactId, status: 'CONFIRMED' })
  }
  await create('/contacts', { email: freshEmail(), company: 'Acme' })
  const { id: segmentId } = await create('/segments', { name: 'Acme', filter: { field: 'company', eq: 'Acme' } })
  const campaign = await create('/campaigns', { name: 'November', subject: 'News', listId, segmentId })
  expect((await call('GET', `/campaigns/${campaign.id}/audience`)).body).toMatchObject({
    willReceive: 2,
    excluded: { outsideSegment: 1, pending: 0 },
  })
  const error = expectError(await call('DELETE', `/segments/${segmentId}`), 409)
  expect(error).toMatchObject({ code: 'in_use', message: expect.stringContaining('"November"') as string })
  expect((await call('POST', `/campaigns/${campaign.id}/send`)).body).toEqual({ queued: 2, unseen: 0 })
  expect((await call('GET', `/campaigns?segmentId=${segmentId}`)).body).toMatchObject({ data: [{ id: campaign.id }] })
})

describe('bad filters are errors that name the part', () => {
  const deep = (levels: number) => `${'{"not":'.repeat(levels)}{"field":"email","isSet":true}${'}'.repeat(levels)}`
  test.each<[string, unknown, string]>([
    ['filter', {}, 'must be an object with one of'],
    ['filter', 'vip', 'must be an object with one of'],
    ['filter.gt2', { field: 'createdAt', gt2: 1 }, 'did you mean "gt"'],
    ['filter.feild', { feild: 'email', eq: 'a' }, 'did you mean "field"'],
    ['filter', { field: 'email' }, 'must have an operator'],
    ['filter.all.0.field', { all: [{ field: 'frstName', eq: 'a' }] }, 'did you mean "firstName"'],
    ['filter.not.gte', { not: { field: 'email', gte: 1 } }, 'does not fit email'],
    ['filter.all', { all: [] }, 'must not be empty'],
    ['filter.within', { field: 'createdAt', within: '30 days' }, 'must be a period such as'],
    ['filter.list', { list: 'lst_1' }, 'List not found'],
    ['filter.did', { campaign: 'any', did: 'opened' }, 'did you mean "open"'],
    ['filter.deal.valueCents.gte', { deal: { valueCents: { gte: '1' } } }, 'must be a number'],
    ['filter', JSON.parse(deep(5)), 'at most 4 levels'],
    ['filter', { any: Array.from({ length: 31 }, () => ({ tags: { has: 'a' } })) }, 'at most 30 leaves'],
  ])('%s of %j', async (path, filter, message) => {
    for (const response of [
      await call('POST', '/segments/preview', { filter }),
      await call('GET', `/contacts?${withFilter(filter)}`),
    ]) {
      const { issues } = expectError(response, 400) as { issues: { path: string; message: string }[] }
      expect(issues).toContainEqual({ path, message: expect.stringContaining(message) as string })
    }
  })

  test('100,000 levels, text that is not JSON, and an unknown segment', async () => {
    const raw = `{"filter":${deep(100_000)}}`
    const response = await api.call('POST', '/segments/preview', {
      key: workspace.key,
      raw,
      headers: { 'content-type': 'application/json' },
    })
    expect(response.status).toBe(400)
    expectError(await call('GET', '/contacts?filter=vip'), 400, 'filter: must be JSON with each key once')
    const twice = encodeURIComponent('{"tags":{"has":"vip","has":"pro"}}')
    expectError(await call('GET', `/contacts?filter=${twice}`), 400, 'filter: must be JSON with each key once')
    const unknown = await call('GET', '/contacts?segmentId=seg_01kag7m3v9e8fs2t4w6x8y0z1b')
    expectError(unknown, 400, 'Segment not found')
  })
})

test('a segment whose list was deleted is a conflict that names it', async () => {
  const list = await create('/lists', { name: 'News' })
  const { id } = await create('/segments', { name: 'Readers', filter: { list: list.id } })
  expect(await emailsAt(`/segments/${id}/contacts`)).toEqual([])
  expect((await call('DELETE', `/lists/${list.id}`)).status).toBe(204)
  for (const path of [`/segments/${id}/contacts`, `/contacts?segmentId=${id}`, `/contacts/export?segmentId=${id}`]) {
    expect(expectError(await call('GET', path), 409)).toMatchObject({
      code: 'wrong_state',
      message: 'The segment "Readers" must be changed before it can be used: filter.list: List not found',
    })
  }
})
