import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { createTestList } from '@rapport/testing/fixtures/factories.ts'
import {
  claimTestImport,
  countRows,
  queueTestImport,
  runQueuedImport,
  runTestImport,
} from '@rapport/testing/fixtures/imports.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { createCustomField } from '../custom-fields/custom-fields.ts'
import { imports } from '../db/schema/index.ts'
import { uuidOf } from '../kernel/ids.ts'
import { byId } from '../request/by-id.ts'
import { importSteps } from './import-steps.ts'
import { readImport } from './imports.ts'
import { releaseClaim } from '../work/claims.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

const defineSeats = () => createCustomField(ctx, { key: 'seats', label: 'Seats', type: 'NUMBER', options: [] })

/** More than one chunk of the first pass. Few people, as each that is written takes time. */
const rows = Array.from({ length: 12_000 }, (_, n) => `ada${n % 100}@example.com;1.234\n`)
const file = ['email;seats\n', ...rows, 'last@example.com;1.234,5\n']

test('one decimal comma at the end decides for the first row, also after a restart', async () => {
  await defineSeats()
  const { id } = await queueTestImport(ctx, file)
  const first = await claimTestImport(ctx, id)
  for await (const step of importSteps(ctx, first)) {
    expect(await step()).toBe('written')
    break
  }
  expect(await readImport(ctx, id)).toMatchObject({ processed: 0 })
  await releaseClaim(ctx, first.claim, 'retry')
  await runQueuedImport(ctx, id)
  expect(await readImport(ctx, id)).toMatchObject({ status: 'COMPLETED', created: 101, skipped: 11_900, failed: 0 })
  const { rows: values } = await database.db.execute(sql`
    select distinct custom_field_values -> 'seats' as seats from contacts
    where workspace_id = ${uuidOf(ctx.workspaceId)} order by seats`)
  expect(values).toEqual([{ seats: 1_234 }, { seats: 1_234.5 }])
})

test('a worker that lost its claim cannot save what it found', async () => {
  await defineSeats()
  const { id } = await queueTestImport(ctx, file)
  const first = await claimTestImport(ctx, id)
  const steps = []
  for await (const step of importSteps(ctx, first)) steps.push(step)
  await releaseClaim(ctx, first.claim, 'retry')
  await claimTestImport(ctx, id)
  expect(await steps[0]?.()).toBe('lost')
})

test('a late save neither undoes a later one nor counts again', async () => {
  const list = await createTestList(ctx)
  // Each chunk with an opt-out is a step of the first pass.
  const rows = Array.from({ length: 2_001 }, (_, n) => `ada${n}@example.com,${n % 2_000 === 0 ? 'unsubscribed' : ''}`)
  const { id } = await queueTestImport(ctx, ['email,status', ...rows].join('\n'), { listId: list.id })
  const claimed = await claimTestImport(ctx, id)
  const saves = []
  for await (const step of importSteps(ctx, claimed)) saves.push(step)
  expect(await saves[0]?.()).toBe('written')
  // The result was lost.
  expect(await saves[0]?.()).toBe('written')
  expect(await saves[1]?.()).toBe('written')
  const read = () =>
    ctx.db
      .select()
      .from(imports)
      .where(byId(imports, ctx, id))
  const saved = await read()
  expect(saved).toMatchObject([{ optedOut: 2 }])
  expect(await saves[0]?.()).toBe('lost')
  expect(await read()).toEqual(saved)
})

test('an opt-out counts in a row with more cells than the header', async () => {
  const list = await createTestList(ctx)
  const rows = ['ada@example.com,unsubscribed,left, angry', 'ada@example.com,confirmed,back']
  const done = await runTestImport(ctx, ['email,status,notes', ...rows].join('\n'), {
    listId: list.id,
    unknownColumns: 'ignore',
  })
  expect(done).toMatchObject({ created: 1, confirmed: 0, optedOut: 1, failed: 1 })
})

test.each([
  ['0,5', '0.5'],
  ['="7"', '="1,234"'],
])('a column of %s and %s is an error before a contact is written', async (one, other) => {
  await defineSeats()
  const quote = (cell: string) => `"${cell.replaceAll('"', '""')}"`
  const { id } = await queueTestImport(
    ctx,
    `email;seats\nada@example.com;${quote(one)}\ngrace@example.com;${quote(other)}\n`,
  )
  const claimed = await claimTestImport(ctx, id)
  const run = async () => {
    for await (const step of importSteps(ctx, claimed)) await step()
  }
  await expect(run()).rejects.toMatchObject({ code: 'validation_error', details: { line: 3 } })
  expect(await countRows(ctx, 'contacts')).toBe(0)
})
