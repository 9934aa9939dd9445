import fc from 'fast-check'
import { isExactNumber } from '../kernel/values/exact-number.ts'
import { chooseSeed, countRuns } from '@rapport/testing/runs.ts'
import { expect, test } from 'vitest'
import { Contact, ContactInput } from '../contacts/contacts.schema.ts'
import type { CustomFields } from '../custom-fields/custom-fields.ts'
import { csvHeader, toCsv } from '../contacts/export/contact-csv.ts'
import { openWindow } from './byte-window.ts'
import { createCsvReader } from './csv-rows.ts'
import { readHeader } from './import-header.ts'
import { parseCsvRow } from './import-rows.ts'

const fields: CustomFields = new Map([
  ['note', { label: 'Note', type: 'TEXT', options: [] }],
  ['seats', { label: 'Seats', type: 'NUMBER', options: [] }],
])

const uglyText = (characters: string) => fc.string({ unit: fc.constantFrom(...Array.from(characters)), maxLength: 20 })
const line = uglyText('=+-@＝＋－＠;,|"\' axü')
const contact = fc.record({
  firstName: line,
  lastName: line,
  company: line,
  source: line,
  phone: fc.constantFrom('+49 30 1', '-1'),
  tags: fc.array(line, { maxLength: 5 }),
  note: uglyText('=+-@＝;,"\' a\t\n').filter((text) => text.trim() !== ''),
  seats: fc.double({ noNaN: true, noDefaultInfinity: true }).filter(isExactNumber),
})

const seed = chooseSeed(20_261_125)

test(`an import restores what an export contains, however ugly (seed ${seed})`, async () => {
  await fc.assert(
    fc.asyncProperty(contact, async ({ note, seats, ...properties }) => {
      const given = ContactInput.safeParse({ email: '=+a@example.com', ...properties })
      fc.pre(given.success)
      const customFieldValues = { note, seats: Object.is(seats, -0) ? 0 : seats }
      const [imported] = await importRows(toFile({ ...given.data, customFieldValues }))
      expect(imported).toEqual({ line: 2, contact: { ...withoutEmpty(given.data), customFieldValues } })
    }),
    { seed, numRuns: countRuns({ gate: 100, full: 5_000 }) },
  )
})

const [example] = (Contact.meta()?.['examples'] ?? []) as [Contact]

function toFile(contact: object): string {
  const keys = [...fields.keys()]
  return csvHeader(keys) + toCsv([{ ...example, ...contact }], keys)
}

async function importRows(file: string) {
  const bytes = Buffer.from(file)
  const { layout, start } = await readHeader(bytes, fields)
  const readPart = async (position: number) => (position < bytes.length ? bytes.subarray(position) : undefined)
  const rows = await createCsvReader(layout.delimiter)(openWindow(readPart, start), 10)
  return rows.map((row) => parseCsvRow(row, { layout, fields, decimalMarks: new Map() }))
}

/** An import ignores empty cells. */
function withoutEmpty(contact: object): object {
  const isEmpty = (value: unknown) => value === '' || value === null || (Array.isArray(value) && value.length === 0)
  return Object.fromEntries(Object.entries(contact).filter(([, value]) => !isEmpty(value)))
}
