import { parse } from 'csv-parse/sync'
import { stringify } from 'csv-stringify/sync'
import fc from 'fast-check'
import { isExactNumber } from '../kernel/values/exact-number.ts'
import { chooseSeed, countRuns } from '@rapport/testing/runs.ts'
import { expect, test } from 'vitest'
import { Contact, ContactInput } from '../contacts/contacts.schema.ts'
import { ExternalId } from '../kernel/values/external-id.ts'
import type { CustomFields } from '../custom-fields/custom-fields.ts'
import { csvHeader, toCsv } from '../contacts/export/contact-csv.ts'
import { readContactFile } from '@rapport/testing/files/import-files.ts'

const fields: CustomFields = new Map([
  ['note', { label: 'Note', type: 'TEXT', options: [] }],
  ['seats', { label: 'Seats', type: 'NUMBER', options: [] }],
])

const uglyText = (characters: string) => fc.string({ unit: fc.constantFrom(...Array.from(characters)), maxLength: 20 })
const line = uglyText('=+-@＝＋－＠;,|"\' axü')
const contact = fc.record({
  externalId: fc.option(line.filter((id) => ExternalId.safeParse(id).success)),
  firstName: line,
  lastName: line,
  company: line,
  source: line,
  phone: fc.constantFrom('+49 30 1', '-1'),
  locale: fc.constantFrom('', 'de-AT'),
  tags: fc.array(line, { maxLength: 5 }),
  note: uglyText('=+-@＝;,"\' a\t\n').filter((text) => text.trim() !== ''),
  seats: fc.double({ noNaN: true, noDefaultInfinity: true }).filter(isExactNumber),
})

const seed = chooseSeed(20_261_125)

/** As Excel saves the file again where the semicolon separates cells: the empty cells at the end of a row are gone. */
function saveInExcel(file: string): string {
  const rows = parse(file).map((cells) => cells.slice(0, cells.findLastIndex((cell) => cell !== '') + 1))
  return stringify(rows, { bom: true, delimiter: ';', record_delimiter: 'windows', quoted_match: /[\r\n]/ })
}

const files: Record<string, (file: string) => string> = {
  unchanged: (file) => file,
  'with a byte order mark': (file) => `\ufeff${file}`,
  'saved again in Excel': saveInExcel,
}

test.each(Object.keys(files))(`an import restores an export %s, however ugly (seed ${seed})`, async (name) => {
  await fc.assert(
    fc.asyncProperty(contact, async ({ note, seats, ...properties }) => {
      const given = ContactInput.safeParse({ email: '=+a@example.com', ...properties })
      fc.pre(given.success)
      const customFieldValues = { note, seats: Object.is(seats, -0) ? 0 : seats }
      const file = toFile({ ...given.data, customFieldValues })
      const [imported] = await readContactFile(files[name]?.(file) ?? '', { fields })
      expect(imported).toMatchObject({ line: 2, status: { statuses: ['CONFIRMED'] } })
      expect(imported).toHaveProperty('contact', { ...withoutEmpty(given.data), customFieldValues })
    }),
    { seed, numRuns: countRuns({ gate: 100, full: 5_000 }) },
  )
})

const [example] = (Contact.meta()?.['examples'] ?? []) as [Contact]

function toFile(contact: object): string {
  const keys = [...fields.keys()]
  return csvHeader(keys) + toCsv([{ ...example, ...contact }], keys)
}

/** An import ignores empty cells. */
function withoutEmpty(contact: object): object {
  const isEmpty = (value: unknown) => value === '' || value === null || (Array.isArray(value) && value.length === 0)
  return Object.fromEntries(Object.entries(contact).filter(([, value]) => !isEmpty(value)))
}
