import {
  createTestCampaign,
  createTestCompany,
  createTestContact,
  createTestCtx,
  createTestList,
  createTestPipeline,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { and, eq } from 'drizzle-orm'
import { beforeEach, expect, test } from 'vitest'
import { createCustomField } from '../custom-fields/custom-fields.ts'
import { CustomFieldInput } from '../custom-fields/custom-fields.schema.ts'
import { contacts } from '../db/schema/index.ts'
import { AppError, type Issue } from '../kernel/errors.ts'
import { newId } from '../kernel/ids.ts'
import { toIssues } from '../kernel/zod-messages.ts'
import { deleteList } from '../lists/delete-list.ts'
import type { Ctx } from '../request/context.ts'
import { compileFilter } from './compile-filter.ts'
import { operatorsOf } from './filter-fields.ts'
import { ContactFilter } from './filter.schema.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const now = new Date('2026-11-23T12:00:00Z')
beforeEach(async () => {
  await defineField(ctx, 'note', { type: 'TEXT' })
  await defineField(ctx, 'seats', { type: 'NUMBER' })
  await defineField(ctx, 'isVip', { type: 'BOOLEAN' })
  await defineField(ctx, 'renewal', { type: 'DATE' })
})

function defineField(ctx: Ctx, key: string, definition: { type: string; object?: string; options?: string[] }) {
  return createCustomField(ctx, CustomFieldInput.parse({ key, label: key, ...definition }))
}

/** What is wrong with a filter, by path; empty if nothing is. */
async function issuesOf(input: unknown): Promise<Record<string, string>> {
  const toRecord = (issues: readonly Issue[]) => Object.fromEntries(issues.map(({ path, message }) => [path, message]))
  const parsed = ContactFilter.safeParse(input)
  if (!parsed.success) return toRecord(toIssues(parsed.error))
  return compileFilter(ctx, parsed.data).then(
    () => ({}),
    (error: unknown) => {
      if (error instanceof AppError && error.code === 'validation_error') return toRecord(error.issues ?? [])
      throw error
    },
  )
}

/** The first names of the contacts that match. */
async function find(input: unknown): Promise<string[]> {
  const condition = await compileFilter(ctx, ContactFilter.parse(input), { now })
  const rows = await ctx.db
    .select({ name: contacts.firstName })
    .from(contacts)
    .where(and(eq(contacts.workspaceId, ctx.workspaceId), condition))
    .orderBy(contacts.firstName)
  return rows.map(({ name }) => name)
}

test('ids of another workspace are reported like ids of missing records', async () => {
  const other = await createTestCtx(database.db)
  const idsOf = async (ctx: Ctx) => ({
    list: (await createTestList(ctx)).id,
    campaign: (await createTestCampaign(ctx)).id,
    pipelineId: (await createTestPipeline(ctx)).id,
    id: (await createTestCompany(ctx)).id,
  })
  const toFilter = ({ list, campaign, pipelineId, id }: Awaited<ReturnType<typeof idsOf>>) => ({
    any: [{ list }, { not: { campaign, did: 'open' } }, { all: [{ deal: { pipelineId } }] }, { company: { id } }],
  })
  const missing = { list: newId('lst'), campaign: newId('cmp'), pipelineId: newId('pip'), id: newId('cpy') }
  const expected = {
    'filter.any.0.list': 'List not found',
    'filter.any.1.not.campaign': 'Campaign not found',
    'filter.any.2.all.0.deal.pipelineId': 'Pipeline not found',
    'filter.any.3.company.id': 'Company not found',
  }
  expect(await issuesOf(toFilter(await idsOf(other)))).toEqual(expected)
  expect(await issuesOf(toFilter(missing))).toEqual(expected)
  expect(await issuesOf(toFilter(await idsOf(ctx)))).toEqual({})
})

test('a custom field of another workspace is an unknown field', async () => {
  await defineField(await createTestCtx(database.db), 'secretPlan', { type: 'TEXT' })
  expect(await issuesOf({ field: 'customFieldValues.secretPlans', eq: 'a' })).toEqual({
    'filter.field': 'unknown field "customFieldValues.secretPlans"',
  })
})

test('what does not fit a field of the company is reported with its path', async () => {
  await defineField(ctx, 'tier', { object: 'COMPANY', type: 'SELECT', options: ['gold', 'silver'] })
  const company = {
    domane: 'acme.example',
    domain: 'not a domain',
    externalId: { contains: 'a' },
    'customFieldValues.tier': 'gald',
    'customFieldValues.teir': { eq: 'gold' },
    'customFieldValues.note': 'a field of contacts',
  }
  expect(await issuesOf({ not: { company } })).toEqual({
    'filter.not.company.domane': 'unknown field "domane" (did you mean "domain"?)',
    'filter.not.company.domain.eq': 'must be a domain such as acme.example',
    'filter.not.company.externalId.contains': 'does not fit externalId: use eq, in, isSet',
    'filter.not.company.customFieldValues.tier.eq': '"gald" is not an option (did you mean "gold"?)',
    'filter.not.company.customFieldValues.teir':
      'unknown field "customFieldValues.teir" (did you mean "customFieldValues.tier"?)',
    'filter.not.company.customFieldValues.note': 'unknown field "customFieldValues.note"',
  })
  for (const wrong of [{ domain: {} }, { name: null }, { tags: {} }, { id: 'con_01kag7m3v9e8fs2t4w6x8y0z1b' }])
    expect(ContactFilter.safeParse({ company: wrong }).success).toBe(false)
})

test('a deleted list is a missing list, also while it still has subscriptions', async () => {
  const { id } = await createTestList(ctx, { confirmed: 1 })
  await deleteList(ctx, id)
  expect(await issuesOf({ list: id })).toEqual({ 'filter.list': 'List not found' })
})

test.each([
  ['first_name', 'firstName'],
  ['lastactivityat', 'lastActivityAt'],
  ['customFieldValues.Seat', 'customFieldValues.seats'],
  ['emailStatus', undefined],
  ['id', undefined],
  ['searchText', undefined],
  ['__proto__', undefined],
  ['customFieldValues.__proto__', undefined],
  ['customFieldValues.', undefined],
  ["customFieldValues.a') or true --", undefined],
])('the unknown field %s is reported with the suggestion %s', async (field, suggestion) => {
  const message = `unknown field "${field}"${suggestion ? ` (did you mean "${suggestion}"?)` : ''}`
  expect(await issuesOf({ field, eq: 'a' })).toEqual({ 'filter.field': message })
})

const anyValue = { eq: 'a', ne: 'a', lt: 1, lte: 1, gt: 1, gte: 1, contains: 'a', startsWith: 'a', in: ['a'] }
const everyOperator = {
  ...anyValue,
  before: '2026-11-21',
  after: '2026-11-21',
  within: '1d',
  notWithin: '1d',
  isSet: true,
}
test.each([
  ['email', 'email'],
  ['firstName', 'text'],
  ['emailSubscribedStatus', 'option'],
  ['customFieldValues.note', 'text'],
  ['customFieldValues.seats', 'number'],
  ['customFieldValues.isVip', 'boolean'],
  ['customFieldValues.renewal', 'date'],
  ['lastActivityAt', 'moment'],
] as const)('%s rejects every operator that does not fit the type %s', async (field, type) => {
  const allowed: readonly string[] = operatorsOf[type]
  const message = `does not fit ${field}: use ${allowed.join(', ')}`
  const rejected: string[] = []
  for (const [operator, value] of Object.entries(everyOperator)) {
    const issues = await issuesOf({ not: { field, [operator]: value } })
    if (issues[`filter.not.${operator}`] === message) rejected.push(operator)
  }
  expect(rejected).toEqual(Object.keys(everyOperator).filter((operator) => !allowed.includes(operator)))
})

test.each([
  [{ field: 'email', eq: 1 }, 'must be a text'],
  [{ field: 'email', eq: 'ada news@example.com' }, 'must be an email address such as ada@example.com'],
  [{ field: 'email', in: ['ada@example.com', 'ada'] }, 'must be an email address such as ada@example.com'],
  [{ field: 'customFieldValues.note', eq: true }, 'must be a text'],
  [{ field: 'customFieldValues.seats', eq: '10' }, 'must be a number'],
  [{ field: 'customFieldValues.isVip', eq: 'true' }, 'must be true or false'],
  [{ field: 'customFieldValues.isVip', eq: 1 }, 'must be true or false'],
  [{ field: 'customFieldValues.renewal', before: '2026-11-21T00:00:00Z' }, 'must be a date such as 2026-11-21'],
  [{ field: 'emailSubscribedStatus', eq: 'CONFIRMED' }, '"CONFIRMED" is not an option'],
  [
    { field: 'emailSubscribedStatus', in: ['NONE', 'SUBSCRIBE'] },
    '"SUBSCRIBE" is not an option (did you mean "SUBSCRIBED"?)',
  ],
])('the value in %j is rejected: %s', async (filter, message) => {
  const path = `filter.${Object.keys(filter)[1]}`
  expect(await issuesOf(filter)).toEqual({ [path]: message })
})

test.each([
  { field: 'customFieldValues.seats', gt: Number.POSITIVE_INFINITY },
  { field: 'customFieldValues.seats', gt: '1' },
  { field: 'createdAt', before: '2026-02-30' },
  { field: 'createdAt', after: '0000-12-31' },
  { field: 'createdAt', after: 'yesterday' },
  { field: 'createdAt', within: '0d' },
  { field: 'createdAt', within: '10000d' },
  { field: 'createdAt', within: '30' },
  { field: 'email', in: [] },
  { field: 'email', in: Array.from({ length: 101 }, () => 'a') },
  { field: 'email', eq: null },
  { field: 'email', eq: '\u0000' },
  { field: 'email', contains: '\ud800' },
  { field: 'email', contains: 'a'.repeat(2_001) },
  { field: 'email', contains: ' ' },
  { field: 'email' },
  { tags: {} },
  { tags: { has: '\u0000' } },
  { tags: { hasAny: [] } },
  { list: 'lst_1' },
  { list: newId('con') },
  { list: newId('lst'), status: 'SUBSCRIBED' },
  { campaign: 'all', did: 'open' },
  { campaign: 'any', did: 'bounce' },
  { deal: { valueCents: {} } },
  { deal: { valueCents: { gte: Number.NaN } } },
  { deal: null },
  {},
  [],
  null,
  'email',
  { all: [] },
  { any: [] },
  { all: {} },
  { not: [] },
  { not: null },
  { all: [{ field: 'email', isSet: true }], any: [{ field: 'email', isSet: true }] },
  { list: newId('lst'), tags: { has: 'a' } },
])('the input %j is a validation error', async (input) => {
  expect(Object.values(await issuesOf(input))).toEqual([expect.stringMatching(/^(must|unknown|is|\w+ not found)/)])
})

const leaf = { field: 'email', isSet: true }
const nest = (depth: number, wrap: (inner: unknown) => unknown): unknown => {
  let filter: unknown = leaf
  for (let level = 0; level < depth; level += 1) filter = wrap(filter)
  return filter
}
const times = (count: number, value: unknown) => Array.from({ length: count }, () => value)

test('a filter has at most 4 levels and 30 leaves', async () => {
  for (const wrap of [(inner: unknown) => ({ not: inner }), (inner: unknown) => ({ all: [inner, leaf] })]) {
    expect(await issuesOf(nest(4, wrap))).toEqual({})
    expect(await issuesOf(nest(5, wrap))).toEqual({ '': 'must have at most 4 levels of all, any and not' })
  }
  expect(await issuesOf({ any: times(30, leaf) })).toEqual({})
  expect(await issuesOf({ any: times(31, leaf) })).toEqual({ '': 'must have at most 30 leaves' })
  expect(await issuesOf({ all: [{ any: times(15, leaf) }, { not: { any: times(16, leaf) } }] })).not.toEqual({})
})

test.each([
  ['not', (inner: unknown) => ({ not: inner })],
  ['all', (inner: unknown) => ({ all: [inner] })],
  ['any', (inner: unknown) => ({ any: [inner] })],
  ['not beside all', (inner: unknown) => ({ not: leaf, all: [inner] })],
  ['any beside all', (inner: unknown) => ({ all: [leaf], any: [inner] })],
  ['all beside a leaf', (inner: unknown) => ({ ...leaf, all: [inner] })],
])('100,000 levels of %s are a validation error', async (_name, wrap) => {
  expect(await issuesOf(nest(100_000, wrap))).toEqual({ '': 'must have at most 4 levels of all, any and not' })
})

test('100,000 empty groups are one validation error', async () => {
  expect(await issuesOf({ all: times(100_000, { any: [] }) })).toEqual({ '': 'must have at most 30 leaves' })
})

test('an unknown operator is an unknown field of the leaf', async () => {
  expect(await issuesOf({ all: [{ field: 'email', eq: 'a', equals: 'a' }] })).toEqual({
    'all.0.equals': 'unknown field',
  })
})

test('characters with a meaning in patterns, JSON and SQL are literal', async () => {
  const names = ["O'Brien", '50%', 'a_b', 'c\\d', '"x"', '{y}', "');--", '$1', '?', 'zoë']
  for (const name of names)
    await createTestContact(ctx, { firstName: name, tags: [name], customFieldValues: { note: name } })
  await createTestContact(ctx, { firstName: 'other', customFieldValues: { note: 'other' }, tags: ['50', 'ab'] })
  for (const name of names) {
    const operators = ['eq', 'contains', 'startsWith'].map((operator) => ({ [operator]: name }))
    for (const field of ['firstName', 'customFieldValues.note'])
      for (const operator of [...operators, { in: [name] }]) expect(await find({ field, ...operator })).toEqual([name])
    for (const tags of [{ has: name }, { hasAny: [name] }]) expect(await find({ tags })).toEqual([name])
  }
  for (const contains of ['%', '_', '\\', "'"])
    expect(await find({ field: 'firstName', contains })).toHaveLength(contains === "'" ? 2 : 1)
  const long = 'ä'.repeat(2_000)
  await createTestContact(ctx, { firstName: 'long', customFieldValues: { note: long } })
  for (const operator of ['eq', 'contains', 'startsWith'])
    expect(await find({ field: 'customFieldValues.note', [operator]: long })).toEqual(['long'])
})

test.each([
  { eq: 'Ada@BÜCHER.example' },
  { in: ['ada@xn--bcher-kva.example'] },
  { in: ['x@example.com', 'ada@bu\u0308cher.example'] },
  { contains: 'bücher' },
  { contains: '@BÜCHER.exam' },
  { contains: 'bu\u0308cher。example' },
  { contains: 'xn--bcher-kva.example' },
  { startsWith: 'Ada@Bücher' },
])('an international address is found as typed: %j', async (operator) => {
  await createTestContact(ctx, { email: 'ada@xn--bcher-kva.example', firstName: 'Ada' })
  expect(await find({ field: 'email', ...operator })).toEqual(['Ada'])
  expect(await find({ not: { field: 'email', ...operator } })).not.toContain('Ada')
})
