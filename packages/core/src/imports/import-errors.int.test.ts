import { expect, test } from 'vitest'
import { runTestImport } from '@rapport/testing/fixtures/imports.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { createCustomField } from '../custom-fields/custom-fields.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

test('counts errors and warnings by column and message', async () => {
  await createCustomField(ctx, { key: 'seats', label: 'Seats', type: 'NUMBER', options: [] })
  const rows = Array.from({ length: 2_100 }, (_, n) => `ada${n}@example.com,${n < 2_050 ? 'many' : n}\n`)
  const json = [
    { email: 'ada' },
    { email: 'ada@example.com', customFieldValues: { 'se\u0007ats': 1 } },
    { email: 'grace@example.com', customFieldValues: { 'se\u0000ats': 1 } },
  ]
  const file = json.map((row) => JSON.stringify(row)).join('\n')
  expect(await runTestImport(ctx, ['email,seats\n', ...rows])).toMatchObject({
    created: 2_100,
    failed: 0,
    errorCounts: [{ column: 'customFieldValues.seats', message: 'must be a number; left out', count: 2_050 }],
  })
  expect(await runTestImport(ctx, file, { format: 'ndjson' })).toMatchObject({
    errorCounts: [
      { column: 'email', message: 'must be an email address such as ada@example.com', count: 1 },
      { column: 'customFieldValues.se\\u0007ats', message: expect.stringContaining('unknown custom field'), count: 1 },
      { column: 'customFieldValues.se\\u0000ats', message: expect.stringContaining('unknown custom field'), count: 1 },
    ],
  })
})
