import { createTestContact } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { and, eq } from 'drizzle-orm'
import { beforeEach, expect, test } from 'vitest'
import { createCustomField } from '../custom-fields/custom-fields.ts'
import { contacts } from '../db/schema/index.ts'
import { compileFilter } from './compile-filter.ts'
import { ContactFilter } from './filter.schema.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const now = new Date('2026-11-23T12:00:00Z')
beforeEach(async () => {
  for (const [key, type] of Object.entries({
    note: 'TEXT',
    seats: 'NUMBER',
    isVip: 'BOOLEAN',
    renewal: 'DATE',
  } as const))
    await createCustomField(ctx, { key, label: key, type, options: [] })
})

/** The last names of the contacts that match. */
async function find(input: unknown): Promise<string[]> {
  const condition = await compileFilter(ctx, ContactFilter.parse(input), { now })
  const rows = await ctx.db
    .select({ name: contacts.lastName })
    .from(contacts)
    .where(and(eq(contacts.workspaceId, ctx.workspaceId), condition))
    .orderBy(contacts.lastName)
  return rows.map(({ name }) => name)
}

test.each([
  [{ before: '2026-11-22' }, ['0001-01-01', '2026-11-21']],
  [{ before: '2026-11-21' }, ['0001-01-01']],
  [{ after: '2026-11-23' }, ['2026-11-23', '2026-11-24', '9999-12-31']],
  [{ after: '2026-11-22', before: '2026-11-24' }, ['2026-11-22', '2026-11-23']],
  [{ within: '1h' }, ['2026-11-23']],
  [{ within: '12h' }, ['2026-11-23']],
  [{ within: '13h' }, ['2026-11-22', '2026-11-23']],
  [{ within: '1d' }, ['2026-11-22', '2026-11-23']],
  [{ within: '2d' }, ['2026-11-21', '2026-11-22', '2026-11-23']],
  [{ notWithin: '2d' }, ['0001-01-01', '2026-11-24', '9999-12-31', 'none']],
  [{ before: '0001-01-01' }, []],
  [{ after: '9999-12-31' }, ['9999-12-31']],
])('the condition %j on a date is true for %j', async (operators, expected) => {
  for (const renewal of ['0001-01-01', '2026-11-21', '2026-11-22', '2026-11-23', '2026-11-24', '9999-12-31'])
    await createTestContact(ctx, { lastName: renewal, customFieldValues: { renewal } })
  await createTestContact(ctx, { lastName: 'none' })
  expect(await find({ field: 'customFieldValues.renewal', ...operators })).toEqual(expected)
})

test.each([
  ['company', { company: 'Acme' }, [{ eq: 'Acme' }, { ne: 'Acme' }]],
  ['firstName', { firstName: 'yes' }, [{ startsWith: 'Y' }, { ne: 'yes' }]],
  ['customFieldValues.note', { customFieldValues: { note: 'a' } }, [{ in: ['a', 'b'] }, { ne: 'a' }]],
  ['customFieldValues.seats', { customFieldValues: { seats: 0 } }, [{ lte: 0 }, { ne: 0 }]],
  ['customFieldValues.isVip', { customFieldValues: { isVip: false } }, [{ eq: false }, { ne: false }]],
  [
    'customFieldValues.renewal',
    { customFieldValues: { renewal: '2026-11-23' } },
    [{ within: '1d' }, { notWithin: '1d' }],
  ],
])('a contact without %s matches only negations and isSet: false', async (field, values, [positive, negative]) => {
  await createTestContact(ctx, { lastName: 'with', ...values })
  await createTestContact(ctx, { lastName: 'without' })
  expect(await find({ field, ...positive })).toEqual(['with'])
  expect(await find({ not: { field, ...positive } })).toEqual(['without'])
  expect(await find({ field, ...negative })).toEqual(['without'])
  expect(await find({ not: { field, ...negative } })).toEqual(['with'])
  expect(await find({ field, isSet: true })).toEqual(['with'])
  expect(await find({ field, isSet: false })).toEqual(['without'])
  expect(await find({ not: { not: { field, ...positive } } })).toEqual(['with'])
})

test('an external id is compared by its exact text alone', async () => {
  for (const externalId of ['user_1', 'USER_1', 'user_2'])
    await createTestContact(ctx, { lastName: externalId, externalId })
  await createTestContact(ctx, { lastName: 'none' })
  expect(await find({ field: 'externalId', eq: 'user_1' })).toEqual(['user_1'])
  expect((await find({ field: 'externalId', in: ['user_1', 'user_2', 'user_3'] })).toSorted()).toEqual([
    'user_1',
    'user_2',
  ])
  const [composed, decomposed] = ['caf\u00e9', 'cafe\u0301']
  await createTestContact(ctx, { lastName: 'composed', externalId: composed })
  await createTestContact(ctx, { lastName: 'decomposed', externalId: decomposed })
  expect(await find({ field: 'externalId', eq: decomposed })).toEqual(['decomposed'])
  expect(await find({ field: 'externalId', in: [composed, 'none'] })).toEqual(['composed'])
  expect(await find({ field: 'externalId', isSet: false })).toEqual(['none'])
  for (const operator of ['ne', 'contains', 'startsWith'])
    await expect(find({ field: 'externalId', [operator]: 'user_1' })).rejects.toThrow('use eq, in, isSet')
})

test.each([
  ['locale', ['de-AT', 'de_at', ' DE-at'], ['de', 'de-CH', 'any text']],
  ['phone', ['+44 20-7946', 'tel:+44 20-7946', '+44\u00a020\u20137946'], ['+44 20 7946', 'any text']],
])('a filter compares a %s in its stored form', async (field, same, others) => {
  await createTestContact(ctx, { lastName: 'with', [field]: same[0] })
  await createTestContact(ctx, { lastName: 'without' })
  for (const value of same) {
    expect(await find({ field, eq: value })).toEqual(['with'])
    expect(await find({ field, ne: value })).toEqual(['without'])
  }
  for (const value of others) expect(await find({ field, eq: value })).toEqual([])
  expect(await find({ field, in: [...others, ...same] })).toEqual(['with'])
})

test('a text of accents alone, which folds to an empty text, matches no value', async () => {
  await createTestContact(ctx, { company: 'Acme', customFieldValues: { note: 'a' } })
  for (const field of ['email', 'company', 'customFieldValues.note'])
    for (const operator of ['contains', 'startsWith']) expect(await find({ field, [operator]: '\u0301' })).toEqual([])
})
