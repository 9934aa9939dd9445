/** Random filters, compared with a plain evaluation of the same filters in TypeScript. */
import { matchesFilter } from '@rapport/testing/fixtures/filter-model.ts'
import {
  campaignIds,
  cents,
  companyIds,
  createFilterWorld,
  customTypes,
  dates,
  domains,
  emails,
  formerOption,
  moments,
  now,
  numbers,
  options,
  type Organization,
  periods,
  type Person,
  pipelineIds,
  tags,
  texts,
} from '@rapport/testing/fixtures/filter-world.ts'
import { createTestCtx } from '@rapport/testing/fixtures/factories.ts'
import { useForFile, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { chooseSeed, countRuns } from '@rapport/testing/runs.ts'
import { sql } from 'drizzle-orm'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { contacts, emailSubscribedStatuses, subscriptionStatuses } from '../db/schema/index.ts'
import { idOf, uuidOf } from '../kernel/ids.ts'
import { compileFilter } from './compile-filter.ts'
import { ContactFilter, type Filter } from './filter.schema.ts'

const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 3 })
const oneOf = <T>(values: readonly T[]) => fc.constantFrom(...values)
const someOf = <T>(values: readonly T[]) => fc.uniqueArray(oneOf(values), { minLength: 1, maxLength: 3 })

const recipient = fc.record({
  campaign: oneOf(campaignIds),
  isAlias: fc.boolean(),
  status: oneOf(['SENDING', 'SENT', 'SENT', 'SENT', 'FAILED', 'SKIPPED', 'INTERRUPTED'] as const),
  endedAt: oneOf(moments),
  openedAt: maybe(oneOf(moments)),
  clickedAt: maybe(oneOf(moments)),
  createdAt: oneOf(moments),
  opensTracked: oneOf([true, true, false, null]),
  clicksTracked: oneOf([true, true, false, null]),
})
const custom = fc.record(
  {
    seats: oneOf(numbers),
    plan: oneOf([...options, formerOption]),
    note: oneOf(texts),
    isVip: fc.boolean(),
    renewal: oneOf(dates),
  },
  { requiredKeys: [] },
)
const organization = (domain: string | undefined): fc.Arbitrary<Organization> =>
  fc.record({
    name: oneOf(texts),
    domain: fc.constant(domain),
    phone: maybe(oneOf(['+49 30 1234', '10'])),
    createdAt: oneOf(moments),
    custom,
    tags: fc.uniqueArray(oneOf(tags), { maxLength: 3 }),
  })
const person: fc.Arbitrary<Person> = fc.record({
  firstName: maybe(oneOf(texts)),
  lastName: maybe(oneOf(texts)),
  phone: maybe(oneOf(['+49 30 1234', '10'])),
  company: maybe(oneOf(texts)),
  source: maybe(oneOf(texts)),
  lastActivityAt: maybe(oneOf(moments)),
  createdAt: oneOf(moments),
  updatedAt: oneOf(moments),
  custom,
  tags: fc.uniqueArray(oneOf(tags), { maxLength: 3 }),
  atCompany: maybe(fc.nat(companyIds.length - 1)),
  subscriptions: fc.uniqueArray(fc.record({ list: fc.nat(2), status: oneOf(subscriptionStatuses) }), {
    selector: ({ list }) => list,
    maxLength: 3,
  }),
  recipients: fc.uniqueArray(recipient, {
    selector: ({ campaign, isAlias }) => `${campaign} ${isAlias}`,
    maxLength: 4,
  }),
  opens: maybe(oneOf(['GRANTED', 'DENIED'] as const)),
  opensDeniedAt: maybe(oneOf(moments)),
  deals: fc.array(
    fc.record({ status: oneOf(['OPEN', 'WON', 'LOST'] as const), pipeline: fc.nat(1), valueCents: oneOf(cents) }),
    { maxLength: 2 },
  ),
})

const seed = chooseSeed(20_261_123)
const database = useTestDatabase()
const world = useForFile(async () => {
  const ctx = await createTestCtx(database.db)
  const createRecords = (seed: number) => ({
    people: fc.sample(person, { seed, numRuns: emails.length }),
    organizations: companyIds.flatMap((_id, n) => fc.sample(organization(domains[n]), { seed: seed + n, numRuns: 1 })),
  })
  await createFilterWorld(await createTestCtx(database.db), createRecords(seed + 1), { isOther: true })
  return { ctx, ...(await createFilterWorld(ctx, createRecords(seed))) }
})

/** A leaf usually has one operator, but may have several. */
const operators = (arbitraries: Record<string, fc.Arbitrary<unknown>>) =>
  fc
    .uniqueArray(oneOf(Object.keys(arbitraries)), { minLength: 1, maxLength: 2 })
    .chain((names) =>
      fc.record(Object.fromEntries(names.map((name) => [name, arbitraries[name] ?? fc.constant(null)]))),
    )

const isSet = fc.boolean()
const parts = oneOf([...texts, 'ac', 'Á', 'e', '%', '_', '\\', "'", 'O', ' z'])
const equality = (values: readonly unknown[]) => ({ eq: oneOf(values), ne: oneOf(values), isSet })
const among = (values: readonly unknown[]) => ({ ...equality(values), in: someOf(values) })
const text = (values: readonly unknown[]) => ({ ...among(values), contains: parts, startsWith: parts })
const ordered = (values: readonly number[]) =>
  Object.fromEntries(['eq', 'ne', 'lt', 'lte', 'gt', 'gte'].map((name) => [name, oneOf(values)]))
const times = (values: readonly string[]) => ({
  before: oneOf(values),
  after: oneOf(values),
  within: oneOf(periods),
  notWithin: oneOf(periods),
  isSet,
})

const otherCase = (email: string, n: number) => [email, email.toLowerCase(), email.toUpperCase()][n % 3] ?? email
const timestamps = [
  ...moments.map((at) => at.toISOString()),
  ...dates,
  '2026-11-23T14:34:56.789+02:00',
  '0001-01-01',
  '9999-12-31',
]
const typeOperators = {
  NUMBER: { ...ordered(numbers), isSet },
  SELECT: among(options),
  TEXT: text(texts),
  BOOLEAN: equality([true, false]),
  DATE: times([...dates, '0001-01-01', '9999-12-31']),
}
const ofCustomFields = Object.fromEntries(
  Object.entries(customTypes).map(([key, type]) => [`customFieldValues.${key}`, typeOperators[type]]),
)
const byField: Record<string, Record<string, fc.Arbitrary<unknown>>> = {
  email: text([...emails.map(otherCase), 'other@example.com']),
  firstName: text(texts),
  lastName: text(texts),
  phone: text(['+49 30 1234', '10']),
  company: text(texts),
  source: text(texts),
  emailSubscribedStatus: among(emailSubscribedStatuses),
  lastActivityAt: times(timestamps),
  createdAt: times(timestamps),
  updatedAt: times(timestamps),
  ...ofCustomFields,
}
const byCompanyField: Record<string, fc.Arbitrary<unknown>> = {
  id: oneOf(companyIds),
  name: fc.oneof(oneOf(texts), operators(text(texts))),
  domain: fc.oneof(oneOf(domains), operators(text(domains))),
  phone: operators(text(['+49 30 1234', '10'])),
  createdAt: operators(times(timestamps)),
  tags: operators({ has: oneOf(tags), hasAny: someOf(tags) }),
  ...Object.fromEntries(Object.entries(ofCustomFields).map(([name, given]) => [name, operators(given)])),
}

const leaf: fc.Arbitrary<unknown> = fc.oneof(
  {
    weight: 5,
    arbitrary: oneOf(Object.entries(byField)).chain(([field, arbitraries]) =>
      operators(arbitraries).map((given) => ({ field, ...given })),
    ),
  },
  { weight: 1, arbitrary: operators({ has: oneOf(tags), hasAny: someOf(tags) }).map((tags) => ({ tags })) },
  { weight: 1, arbitrary: fc.record({ list: fc.nat(1), status: maybe(oneOf(subscriptionStatuses)) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      campaign: oneOf(['any', ...campaignIds]),
      did: oneOf(['receive', 'open', 'click']),
      within: maybe(oneOf(periods)),
    }),
  },
  {
    weight: 2,
    arbitrary: fc
      .uniqueArray(oneOf(Object.keys(byCompanyField)), { maxLength: 2 })
      .chain((names) =>
        fc.record(Object.fromEntries(names.map((name) => [name, byCompanyField[name] ?? fc.constant('')]))),
      )
      .map((company) => ({ company })),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      deal: fc.record({
        status: maybe(oneOf(['OPEN', 'WON', 'LOST'])),
        pipelineId: maybe(oneOf(pipelineIds)),
        valueCents: maybe(operators(ordered(cents))),
      }),
    }),
  },
)
/** Groups up to this depth, at most 27 leaves. */
function node(depth: number): fc.Arbitrary<unknown> {
  if (depth === 0) return leaf
  const inner = node(depth - 1)
  const group = fc.array(inner, { minLength: 1, maxLength: depth > 3 ? 1 : 3 })
  return fc.oneof(
    { weight: 2, arbitrary: leaf },
    { weight: 1, arbitrary: fc.record({ all: group }) },
    { weight: 1, arbitrary: fc.record({ any: group }) },
    { weight: 1, arbitrary: fc.record({ not: inner }) },
  )
}

/** Names the lists of this run, and omits what is undefined as JSON does. */
const parse = (input: unknown) =>
  ContactFilter.parse(
    JSON.parse(JSON.stringify(input), (key, value: unknown) => (key === 'list' ? world.listIds[Number(value)] : value)),
  )

/** The contacts that match each of the filters, all found by one statement. */
async function findContacts(filters: readonly Filter[]): Promise<string[][]> {
  const { ctx } = world
  const found = filters.map((): string[] => [])
  const conditions = await Promise.all(filters.map((filter) => compileFilter(ctx, filter, { now })))
  const selects = conditions.map(
    (condition, n) => sql`select ${n}::int as n, id from ${contacts}
      where ${contacts}.workspace_id = ${uuidOf(ctx.workspaceId)}::uuid and ${condition}`,
  )
  const { rows } = await ctx.db.execute<{ n: number; id: string }>(sql.join(selects, sql` union all `))
  for (const { n, id } of rows) found[n]?.push(idOf('con', id))
  return found
}

const findModelContacts = (filter: Filter) =>
  [...world.contacts]
    .filter(([, contact]) => matchesFilter(contact, filter, { now, isNegated: false }))
    .map(([id]) => id)

/** Returns the part of the filters that match some contacts and not all: the others compare little. */
async function compareWithModel(filterCount: number): Promise<number> {
  const perStatement = 50
  const sizes: number[] = []
  const batch = fc.array(node(4), { minLength: perStatement, maxLength: perStatement })
  const property = fc.asyncProperty(batch, async (inputs) => {
    const filters = inputs.map(parse)
    const found = await findContacts(filters)
    for (const [n, filter] of filters.entries()) {
      const ids = found[n] ?? []
      expect({ filter, ids: ids.toSorted() }).toEqual({ filter, ids: findModelContacts(filter).toSorted() })
      sizes.push(ids.length)
    }
  })
  // A failure prints the shortest filter that it finds, and the path to it.
  await fc.assert(property, { seed, numRuns: filterCount / perStatement })
  return sizes.filter((size) => size > 0 && size < world.contacts.size).length / sizes.length
}

test(`random filters find the contacts that the model finds (seed ${seed})`, async () => {
  expect(await compareWithModel(countRuns({ gate: 500, full: 40_000 }))).toBeGreaterThan(0.5)
})
