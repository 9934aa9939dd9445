/** Pipelines, deals and tasks: one test for each route of the contract. */
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeEach, expect, test } from 'vitest'
import { aTimestamp, anId, expectError, freshEmail, type Json, startTestApi } from '../testing.ts'

interface Pipeline extends Json {
  id: string
  stages: { id: string; name: string; position: number; winProbability: number }[]
}

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())
const call = (method: string, path: string, body?: unknown) =>
  api.call(method, path, { key: workspace.key, ...(body !== undefined && { body }) })
const listOf = async (path: string) => (await call('GET', path)).body['data']

let pipeline: Pipeline
let contactId: string
beforeEach(async () => {
  const stages = [{ name: 'Lead' }, { name: 'Offer', winProbability: 50 }]
  pipeline = await api.create<Pipeline>('/pipelines', workspace.key, { name: 'Renewals', stages })
  contactId = (await api.create<{ id: string }>('/contacts', workspace.key, { email: freshEmail() })).id
})
const createDeal = (more: object = {}) =>
  api.create<Json & { id: string }>('/deals', workspace.key, {
    pipelineId: pipeline.id,
    contactId,
    name: 'Big deal',
    ...more,
  })

test('GET and POST /pipelines, GET, PATCH and DELETE /pipelines/{id}', async () => {
  expect(pipeline).toMatchObject({
    id: anId('pip'),
    name: 'Renewals',
    stages: [
      { id: anId('stg'), name: 'Lead', position: 0, winProbability: 0 },
      { name: 'Offer', position: 1, winProbability: 50 },
    ],
  })
  expect(await listOf('/pipelines')).toContainEqual(pipeline)
  expect((await call('GET', `/pipelines/${pipeline.id}`)).body).toEqual(pipeline)
  const [, offer] = pipeline.stages
  const reordered = await call('PATCH', `/pipelines/${pipeline.id}`, { stages: [{ ...pick(offer) }, { name: 'Won' }] })
  expect(reordered.body['stages']).toMatchObject([
    { id: offer?.id, position: 0 },
    { name: 'Won', position: 1 },
  ])
  await createDeal()
  const removing = await call('PATCH', `/pipelines/${pipeline.id}`, { stages: [{ name: 'Only' }] })
  expect(expectError(removing, 409).code).toBe('in_use')
  expect(expectError(await call('DELETE', `/pipelines/${pipeline.id}`), 409).code).toBe('in_use')
  expectError(await call('POST', '/pipelines', { name: 'Empty', stages: [] }), 400)
})

/** A stage as a PATCH takes it. */
const pick = (stage: Pipeline['stages'][number] | undefined) => ({ id: stage?.id, name: stage?.name })

test('GET /pipelines/{id}/summary: count, value and the weighted total of OPEN deals', async () => {
  await createDeal({ valueCents: 1_000, stageId: pipeline.stages[1]?.id })
  await createDeal({ valueCents: 2 ** 53 - 1 })
  await createDeal({ valueCents: 2 ** 53 - 1 })
  const { body } = await call('GET', `/pipelines/${pipeline.id}/summary`)
  expect(body['stages']).toMatchObject([
    { stageId: pipeline.stages[0]?.id, count: 2, valueCents: null, valueCentsExact: '18014398509481982' },
    { stageId: pipeline.stages[1]?.id, count: 1, valueCents: 1_000, valueCentsExact: '1000' },
  ])
  expect(body['total']).toMatchObject({ count: 3, weightedValueCents: 500 })
})

test('POST and GET /deals: the first stage by default, filters and ranges', async () => {
  const deal = await createDeal({ valueCents: 5_000 })
  expect(deal).toEqual({
    id: anId('dea'),
    pipelineId: pipeline.id,
    stageId: pipeline.stages[0]?.id,
    contactId,
    name: 'Big deal',
    valueCents: 5_000,
    status: 'OPEN',
    closedAt: null,
    createdAt: aTimestamp,
    updatedAt: aTimestamp,
  })
  const find = async (query: string) => (await listOf(`/deals?pipelineId=${pipeline.id}&${query}`)) as Json[]
  for (const query of ['search=big', `contactId=${contactId}`, 'status=OPEN&status=WON', 'createdAfter=2026-01-01']) {
    expect([query, (await find(query)).map(({ id }) => id)]).toEqual([query, [deal.id]])
  }
  for (const query of ['search=small', 'status=LOST', 'closedAfter=2026-01-01', 'createdBefore=2026-01-01']) {
    expect([query, await find(query)]).toEqual([query, []])
  }
  const [other] = (await listOf('/pipelines?limit=1')) as Pipeline[]
  const foreign = await call('POST', '/deals', {
    pipelineId: pipeline.id,
    contactId,
    name: 'x',
    stageId: other?.id === pipeline.id ? 'stg_01kag7m3v9e8fs2t4w6x8y0z1b' : other?.stages[0]?.id,
  })
  expect(expectError(foreign, 400).issues?.[0]?.path).toBe('stageId')
  for (const valueCents of [-1, 1.5, 2 ** 53]) {
    expectError(await call('POST', '/deals', { pipelineId: pipeline.id, contactId, name: 'x', valueCents }), 400)
  }
})

test('GET, PATCH and DELETE /deals/{id}: WON and LOST set closedAt, OPEN clears it', async () => {
  const { id } = await createDeal()
  for (const [status, closedAt] of [
    ['WON', aTimestamp],
    ['OPEN', null],
    ['LOST', aTimestamp],
  ]) {
    expect((await call('PATCH', `/deals/${id}`, { status })).body).toMatchObject({ status, closedAt })
  }
  expect((await call('DELETE', `/deals/${id}`)).status).toBe(204)
  expectError(await call('GET', `/deals/${id}`), 404)
})

test('GET /deals/{id}/activity: each move, newest first', async () => {
  const { id } = await createDeal()
  await call('PATCH', `/deals/${id}`, { stageId: pipeline.stages[1]?.id })
  expect(await listOf(`/deals/${id}/activity`)).toMatchObject([
    { from: { stageId: pipeline.stages[0]?.id }, to: { stageId: pipeline.stages[1]?.id }, apiKeyId: anId('key') },
  ])
})

test('GET and POST /contacts/{contactId}/tasks, GET /tasks', async () => {
  const created = await call('POST', `/contacts/${contactId}/tasks`, { title: 'Call', dueAt: '2026-12-01T09:00:00Z' })
  expect(created).toMatchObject({ status: 201, headers: { location: `/tasks/${String(created.body['id'])}` } })
  expect(created.body).toEqual({
    id: anId('tsk'),
    contactId,
    title: 'Call',
    notes: '',
    status: 'OPEN',
    dueAt: '2026-12-01T09:00:00.000Z',
    assigneeId: null,
    completedAt: null,
    createdAt: aTimestamp,
    updatedAt: aTimestamp,
  })
  const path = `/tasks/${String(created.body['id'])}`
  expect((await call('GET', path)).body).toEqual(created.body)
  expect(await listOf(`/contacts/${contactId}/tasks`)).toEqual([created.body])
  const withoutDue = await api.create(`/contacts/${contactId}/tasks`, workspace.key, { title: 'Later' })
  expect(await listOf(`/tasks?contactId=${contactId}`)).toEqual([created.body, withoutDue])
  for (const query of ['dueBefore=2026-12-02', 'dueAfter=2026-12-01', 'status=OPEN&dueAfter=2026-11-30']) {
    expect([query, await listOf(`/tasks?contactId=${contactId}&${query}`)]).toEqual([query, [created.body]])
  }
})

test('GET, PATCH and DELETE /tasks/{id}: DONE sets completedAt', async () => {
  const { id } = await api.create<{ id: string }>(`/contacts/${contactId}/tasks`, workspace.key, { title: 'Call' })
  const path = `/tasks/${id}`
  expect((await call('GET', path)).body).toMatchObject({ id, completedAt: null })
  const assignee = (await call('GET', '/members')).body['data'] as { id: string }[]
  const change = { status: 'DONE', assigneeId: assignee[0]?.id }
  expect((await call('PATCH', path, change)).body).toMatchObject({ ...change, completedAt: aTimestamp })
  expect(await listOf(`/tasks?assigneeId=${assignee[0]?.id}`)).toMatchObject([{ id }])
  expect((await call('DELETE', path)).status).toBe(204)
  const types = ((await listOf('/events?limit=100')) as Json[]).map(({ type }) => type)
  expect(types).toEqual(expect.arrayContaining(['task.created', 'task.updated', 'task.completed', 'task.deleted']))
})
