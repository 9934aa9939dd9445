import type { Contact } from '@rapport/core/contacts/contacts.schema.ts'
import type { Deal, DealMove } from '@rapport/core/deals/deals.schema.ts'
import type { Page } from '@rapport/core/request/paging.ts'
import type { Pipeline } from '@rapport/core/pipelines/pipelines.schema.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { anId, aTimestamp, expectError, freshEmail, startTestApi } from '../../test/testing.ts'

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())
let pipeline: Pipeline
let contact: Contact
let deal: Deal
beforeAll(async () => {
  const { body } = await get<Page<Pipeline>>('/pipelines')
  pipeline = body.data[0] as Pipeline
  contact = await api.create('/contacts', workspace.key, { email: freshEmail() })
})
beforeEach(async () => {
  deal = await create({})
})

const get = <Body>(path: string) => api.call<Body>('GET', path, { key: workspace.key })
const post = (body: object) => api.call<Deal>('POST', '/deals', { key: workspace.key, body })
const patch = (body: unknown, id = deal.id) => api.call<Deal>('PATCH', `/deals/${id}`, { key: workspace.key, body })
const create = (given: object) =>
  api.create<Deal>('/deals', workspace.key, { pipelineId: pipeline.id, contactId: contact.id, ...given })
const stageId = (position: number) => pipeline.stages[position]?.id

test('POST /deals: the specified fields, OPEN in the first stage', async () => {
  const response = await post({
    pipelineId: pipeline.id,
    contactId: contact.id,
    name: ' Engine ',
    valueCents: 1_700_000,
  })
  expect(response).toMatchObject({ status: 201, headers: { location: `/deals/${response.body.id}` } })
  expect(Object.entries(response.body)).toEqual([
    ['id', anId('dea')],
    ['pipelineId', pipeline.id],
    ['stageId', stageId(0)],
    ['contactId', contact.id],
    ['name', 'Engine'],
    ['valueCents', 1_700_000],
    ['status', 'OPEN'],
    ['closedAt', null],
    ['companyId', null],
    ['ownerId', null],
    ['expectedCloseOn', null],
    ['lostReason', null],
    ['customFieldValues', {}],
    ['contactErasedAt', null],
    ['createdAt', aTimestamp],
    ['updatedAt', aTimestamp],
  ])
  expect((await get(`/deals/${response.body.id}`)).body).toEqual(response.body)
  expect((await create({})).name).toBe('')
})

const badValues: [string, unknown][] = [
  ['ownerId', 'usr_x'],
  ['expectedCloseOn', '0000-12-31'],
  ['expectedCloseOn', '2026-02-30'],
  ['expectedCloseOn', '2026-12-31T00:00:00Z'],
  ['pipelineId', undefined],
  ['pipelineId', null],
  ['pipelineId', 'pip_x'],
  ['pipelineId', 7],
  ['contactId', undefined],
  ['contactId', 'lst_01kag7m3v9e8fs2t4w6x8y0z1b'],
  ['contactId', ['con_01kag7m3v9e8fs2t4w6x8y0z1b']],
  ['contactId', 'con_01kag7m3v9e8fs2t4w6x8y0z1b'],
  ['stageId', null],
  ['stageId', 'con_01kag7m3v9e8fs2t4w6x8y0z1b'],
  ['stageId', 'stg_01kag7m3v9e8fs2t4w6x8y0z1b'],
  ['name', null],
  ['name', 7],
  ['name', 'x'.repeat(201)],
  ['name', 'a\nb'],
  ['valueCents', -1],
  ['valueCents', 1.5],
  ['valueCents', '100'],
  ['valueCents', 1e21],
  ['valueCents', 2 ** 53],
  ['valueCents', null],
  ['valueCents', true],
  ['valueCents', [1]],
  ['status', 'WON'],
  ['closedAt', '2026-11-21T06:35:49Z'],
  ['createdAt', '2026-11-21T06:35:49Z'],
  ['workspaceId', 'wsp_01kag7m3v9e8fs2t4w6x8y0z1b'],
]
// In a POST, null is as if an optional field were left out.
const badCreations = badValues.filter(([path, value]) => value !== null || path === 'pipelineId')
test.each(badCreations)('creating a deal with %s %j returns 400 and names the field', async (path, value) => {
  const { issues } = expectError(await post({ pipelineId: pipeline.id, contactId: contact.id, [path]: value }), 400)
  expect(issues).toMatchObject([{ path }])
})

test.each(badValues.filter(([path, value]) => value !== undefined && path !== 'status'))(
  'updating %s to %j returns 400 and names the field',
  async (path, value) => {
    expect(expectError(await patch({ [path]: value }), 400).issues).toMatchObject([{ path }])
    expect((await get(`/deals/${deal.id}`)).body).toEqual(deal)
  },
)

test.each(['', 'won', 'CLOSED', null, 1])('updating the status to %j returns 400', async (status) => {
  expect(expectError(await patch({ status }), 400).issues).toMatchObject([{ path: 'status' }])
})

test('values are exact from 0 to 2^53-1, and -0 becomes 0', async () => {
  for (const [text, value] of [
    ['0', 0],
    ['-0', 0],
    ['9007199254740991', Number.MAX_SAFE_INTEGER],
    ['1e2', 100],
  ]) {
    const raw = `{"valueCents":${text}}`
    const response = await api.call<Deal>('PATCH', `/deals/${deal.id}`, { key: workspace.key, raw })
    expect([text, response.status, response.body.valueCents]).toEqual([text, 200, value])
  }
  for (const text of ['9007199254740992', '9007199254740993', '1e400', '-1e-400']) {
    const raw = `{"valueCents":${text}}`
    const { status } = await api.call('PATCH', `/deals/${deal.id}`, { key: workspace.key, raw })
    // JSON parsers read the last one as -0.
    expect([text, status]).toEqual([text, text === '-1e-400' ? 200 : 400])
  }
})

test('PATCH /deals/{id}, GET /deals/{id}/activity: stage and status as one entry', async () => {
  const { body } = await patch({ stageId: stageId(2), status: 'WON' })
  expect(body).toEqual({ ...deal, stageId: stageId(2), status: 'WON', closedAt: aTimestamp, updatedAt: aTimestamp })
  const { body: moves } = await get<Page<DealMove>>(`/deals/${deal.id}/activity`)
  expect(moves).toEqual({
    data: [
      {
        id: anId('mov'),
        from: { pipelineId: pipeline.id, stageId: stageId(0), status: 'OPEN' },
        to: { pipelineId: pipeline.id, stageId: stageId(2), status: 'WON' },
        userId: null,
        apiKeyId: anId('key'),
        createdAt: aTimestamp,
      },
    ],
    nextCursor: null,
  })
  const { body: activity } = await get<Page<{ type: string; data: object }>>(`/contacts/${contact.id}/activity?limit=2`)
  expect(activity.data).toMatchObject([
    { type: 'deal.won', data: body },
    { type: 'deal.stage_changed', data: { ...body, previousStageId: stageId(0), previousPipelineId: pipeline.id } },
  ])
})

test('GET and DELETE /deals/{id}: deleted once, or with its contact', async () => {
  const { key } = workspace
  const another = await create({})
  expect(await api.call('DELETE', `/deals/${deal.id}`, { key })).toMatchObject({ status: 204, text: '' })
  expectError(await api.call('DELETE', `/deals/${deal.id}`, { key }), 404, 'Deal not found')
  expectError(await patch({ name: 'a' }), 404, 'Deal not found')
  expectError(await get(`/deals/${deal.id}/activity`), 404, 'Deal not found')
  await api.call('DELETE', `/contacts/${contact.id}`, { key })
  expectError(await get(`/deals/${another.id}`), 404, 'Deal not found')
  contact = await api.create('/contacts', key, { email: freshEmail() })
})

test.each([
  'status=won',
  'status=',
  'status=OPEN&status=won',
  'sort=name',
  'sort=value_cents;drop',
  'pipelineId=x',
  'stageId=pip_01kag7m3v9e8fs2t4w6x8y0z1b',
  'contactId=',
  'closedAfter=yesterday',
  'closedBefore=2026-02-30',
  'valueCentsMin=-1',
  'valueCentsMin=1.5',
  'valueCentsMax=9007199254740992',
])('GET /deals?%s returns 400 and names the parameter', async (query) => {
  const { issues } = expectError(await get(`/deals?${query}`), 400)
  expect(issues?.[0]?.path).toBe(query.split('=')[0])
})

test('two deals swap their contacts at once, each with the ETag of the deal', async () => {
  const other = await api.create<Contact>('/contacts', workspace.key, { email: freshEmail() })
  const pair = [deal, await create({ contactId: other.id })]
  for (let round = 1; round <= 10; round++) {
    const swapped = await Promise.all(
      pair.map(async ({ id }, index) => {
        const { headers } = await get(`/deals/${id}`)
        const contactId = [contact.id, other.id][(index + round) % 2]
        const call = { key: workspace.key, headers: { 'if-match': headers['etag'] ?? '' }, body: { contactId } }
        return api.call<Deal>('PATCH', `/deals/${id}`, call)
      }),
    )
    expect(swapped.map(({ status }) => status)).toEqual([200, 200])
  }
})
