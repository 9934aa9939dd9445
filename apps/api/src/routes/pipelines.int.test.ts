import type { Contact } from '@rapport/core/contacts/contacts.schema.ts'
import type { Pipeline, PipelineSummary } from '@rapport/core/pipelines/pipelines.schema.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { anId, aTimestamp, countStatuses, expectError, freshEmail, startTestApi } from '../../test/testing.ts'

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())
let pipeline: Pipeline
let contact: Contact
const stages = [
  { name: 'Due', winProbability: 70 },
  { name: 'Signed', winProbability: 100 },
]
beforeAll(async () => {
  contact = await api.create('/contacts', workspace.key, { email: freshEmail() })
})
beforeEach(async () => {
  pipeline = await api.create('/pipelines', workspace.key, { name: 'Renewals', stages })
})

const get = <Body>(path: string) => api.call<Body>('GET', path, { key: workspace.key })
const post = (body: unknown) => api.call<Pipeline>('POST', '/pipelines', { key: workspace.key, body })
const patch = (body: unknown) => api.call<Pipeline>('PATCH', `/pipelines/${pipeline.id}`, { key: workspace.key, body })
const remove = () => api.call('DELETE', `/pipelines/${pipeline.id}`, { key: workspace.key })
const createDeal = (valueCents: number) =>
  api.create('/deals', workspace.key, { pipelineId: pipeline.id, contactId: contact.id, valueCents })

test('POST /pipelines, GET /pipelines/{id}: the stages in order', async () => {
  const response = await post({ name: ' Renewals ', stages })
  expect(response).toMatchObject({ status: 201, headers: { location: `/pipelines/${response.body.id}` } })
  expect(response.body).toEqual({
    id: anId('pip'),
    name: 'Renewals',
    stages: stages.map((stage, position) => ({ id: anId('stg'), ...stage, position })),
    createdAt: aTimestamp,
    updatedAt: aTimestamp,
  })
  expect((await get(`/pipelines/${response.body.id}`)).body).toEqual(response.body)
})

const badStages: [unknown, string][] = [
  [undefined, 'stages'],
  [null, 'stages'],
  [[], 'stages'],
  [{}, 'stages'],
  [Array.from({ length: 101 }, () => stages[0]), 'stages'],
  [[null], 'stages.0'],
  [[{ winProbability: 1 }], 'stages.0.name'],
  [[{ name: 'a', winProbability: '1' }], 'stages.0.winProbability'],
  [[{ name: '  ', winProbability: 1 }], 'stages.0.name'],
  [[{ name: 'x'.repeat(201), winProbability: 1 }], 'stages.0.name'],
  [[stages[0], { name: 'a', winProbability: 101 }], 'stages.1.winProbability'],
  [[{ name: 'a', winProbability: -1 }], 'stages.0.winProbability'],
  [[{ name: 'a', winProbability: 0.5 }], 'stages.0.winProbability'],
  [[{ name: 'a', winProbability: '50' }], 'stages.0.winProbability'],
  [[{ name: 'a', winProbability: 1, position: 3 }], 'stages.0.position'],
  [[{ name: 'a', winProbability: 1, id: 'x' }], 'stages.0.id'],
]
test.each(badStages)('rejects the stages %j and names the field', async (given, path) => {
  expect(expectError(await post({ name: 'a', stages: given }), 400).issues).toMatchObject([{ path }])
  if (given === undefined) return
  expect(expectError(await patch({ stages: given }), 400).issues).toMatchObject([{ path }])
  expect((await get(`/pipelines/${pipeline.id}`)).body).toEqual(pipeline)
})

test.each(['', ' ', 'x'.repeat(201), 'a\u0007', 7, null])('rejects the name %j', async (name) => {
  expect(expectError(await post({ name, stages }), 400).issues).toMatchObject([{ path: 'name' }])
  expect(expectError(await patch({ name }), 400).issues).toMatchObject([{ path: 'name' }])
})

test('a new stage has a winProbability of 0 by default', async () => {
  const created = await post({ name: 'a', stages: [{ name: 'Lead' }] })
  expect(created.body.stages).toEqual([{ id: anId('stg'), name: 'Lead', position: 0, winProbability: 0 }])
  const kept = pipeline.stages.map(({ id }) => ({ id }))
  const { body } = await patch({ stages: [...kept, { name: 'Late' }] })
  expect(body.stages).toEqual([...pipeline.stages, { id: anId('stg'), name: 'Late', position: 2, winProbability: 0 }])
})

test('PATCH /pipelines/{id}: keeps the stages with an id; a repeated id returns 400', async () => {
  const [due, signed] = pipeline.stages
  const { status, body } = await patch({
    stages: [{ id: signed?.id }, { name: 'Lost touch', winProbability: 5 }, { id: due?.id, winProbability: 60 }],
  })
  expect(status).toBe(200)
  expect(body.stages).toEqual([
    { ...signed, position: 0 },
    { id: anId('stg'), name: 'Lost touch', winProbability: 5, position: 1 },
    { ...due, winProbability: 60, position: 2 },
  ])
  const twice = await patch({ stages: [{ id: due?.id }, { id: due?.id }] })
  expect(expectError(twice, 400).issues).toEqual([{ path: 'stages', message: 'must not repeat a stage' }])
})

test('DELETE /pipelines/{id}: with deals returns 409 with their count, as a stage', async () => {
  await createDeal(1)
  await createDeal(2)
  const signedOnly = { stages: [{ id: pipeline.stages[1]?.id }] }
  for (const response of [await patch(signedOnly), await remove()]) {
    const { message, ...body } = expectError(response, 409)
    expect(message).toMatch(/^".+" still ha(s|ve) 2 deals: move them first$/)
    expect(body).toMatchObject({ dealCount: 2 })
  }
  pipeline = (await post({ name: 'Empty', stages })).body
  expect(await remove()).toMatchObject({ status: 204, text: '' })
  expectError(await remove(), 404, 'Pipeline not found')
  expectError(await patch({ name: 'a' }), 404, 'Pipeline not found')
  expectError(await get(`/pipelines/${pipeline.id}/summary`), 404, 'Pipeline not found')
})

test('GET /pipelines/{id}/summary: adds up open deals per stage and in total', async () => {
  await createDeal(1_000)
  await createDeal(Number.MAX_SAFE_INTEGER)
  const { status, body } = await get<PipelineSummary>(`/pipelines/${pipeline.id}/summary`)
  expect(status).toBe(200)
  expect(body).toEqual({
    pipelineId: pipeline.id,
    stages: [
      { stageId: pipeline.stages[0]?.id, count: 2, valueCents: null, valueCentsExact: '9007199254741991' },
      { stageId: pipeline.stages[1]?.id, count: 0, valueCents: 0, valueCentsExact: '0' },
    ],
    total: {
      count: 2,
      valueCents: null,
      valueCentsExact: '9007199254741991',
      weightedValueCents: 6_305_039_478_319_394,
      weightedValueCentsExact: '6305039478319394',
    },
    won: { count: 0, valueCents: 0, valueCentsExact: '0' },
    lost: { count: 0, valueCents: 0, valueCentsExact: '0' },
    lostReasons: [],
  })
})

test('concurrent changes of stages, deals and pipelines never fail with a 5xx', async () => {
  for (let round = 0; round < 5; round++) {
    pipeline = (await post({ name: 'Busy', stages })).body
    const [due, signed] = pipeline.stages.map(({ id }) => ({ id }))
    const key = workspace.key
    const body = { pipelineId: pipeline.id, contactId: contact.id }
    const responses = await Promise.all([
      api.call('POST', '/deals', { key, body }),
      api.call('POST', '/deals', { key, body: { ...body, stageId: due?.id } }),
      patch({ stages: [signed] }),
      api.call('POST', '/deals', { key, body: { ...body, stageId: signed?.id } }),
      patch({ stages: [signed, due] }),
      remove(),
      api.call('POST', '/deals', { key, body }),
    ])
    const counts = countStatuses(responses)
    expect(
      Object.keys(counts).filter((status) => !['200', '201', '204', '400', '404', '409'].includes(status)),
    ).toEqual([])
  }
})
