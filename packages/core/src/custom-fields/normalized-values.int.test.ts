import { expect, test } from 'vitest'
import { runTestImport } from '@rapport/testing/fixtures/imports.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { writeContactBatch } from '../contacts/batch/write-contact-batch.ts'
import { ContactQuery } from '../contacts/listing/contact-query.schema.ts'
import { createContact } from '../contacts/create-contact.ts'
import { listContacts } from '../contacts/listing/list-contacts.ts'
import { updateContact } from '../contacts/update-contact.ts'
import { findOrCreateContact, upsertContact } from '../contacts/upsert-contact.ts'
import { inTransaction } from '../request/context.ts'
import { createCustomField } from './custom-fields.ts'
import { CustomFieldInput } from './custom-fields.schema.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

const decomposed = 'Cafe\u0301'
const composed = 'Caf\u00e9'

async function defineFields() {
  await createCustomField(ctx, { key: 'city', label: 'City', type: 'TEXT', options: [] })
  await createCustomField(ctx, { key: 'seats', label: 'Seats', type: 'NUMBER', options: [] })
  const place = CustomFieldInput.parse({
    key: 'place',
    label: 'Place',
    type: 'SELECT',
    options: [`${decomposed}\u200b`],
  })
  expect((await createCustomField(ctx, place)).options).toEqual([composed])
}

const given = { city: ` ${decomposed}\u200b`, place: `${decomposed} ` }
const row = { email: 'ada@example.com', customFieldValues: given }

/** Each writes the same values in another way. */
const writes: Record<string, () => Promise<unknown>> = {
  'POST /contacts': () => createContact(ctx, row),
  'PUT /contacts': () => upsertContact(ctx, row),
  async 'PATCH /contacts/{id}'() {
    const { id } = await createContact(ctx, { email: row.email })
    return updateContact(ctx, id, { customFieldValues: given })
  },
  'a batch': () => writeContactBatch(ctx, { contacts: [row], onConflict: 'fail' }, () => {}),
  'a form or sign-up': () => inTransaction(ctx, (ctx) => findOrCreateContact(ctx, row)),
  'a CSV': () => runTestImport(ctx, `email,city,place\nada@example.com, ${decomposed}\u200b,${decomposed} \n`),
  NDJSON: () => runTestImport(ctx, JSON.stringify(row), { format: 'ndjson' }),
}

test.each(Object.keys(writes))('texts are stored without invisible ends and in NFC by %s', async (name) => {
  await defineFields()
  await writes[name]?.()
  for (const [key, value] of Object.entries({ ...given, city: composed })) {
    const filter = JSON.stringify({ field: `customFieldValues.${key}`, eq: value.trim() })
    for (const query of [{ [`customField.${key}`]: value }, { filter }]) {
      const { data } = await listContacts(ctx, ContactQuery.parse(query))
      expect(data.map(({ customFieldValues }) => customFieldValues)).toEqual([{ city: composed, place: composed }])
    }
  }
})

test('a text with line breaks matches itself', async () => {
  await defineFields()
  const { customFieldValues } = await createContact(ctx, { ...row, customFieldValues: { city: 'Ham\nburg' } })
  const filter = JSON.stringify({ field: 'customFieldValues.city', eq: customFieldValues['city'] })
  expect((await listContacts(ctx, ContactQuery.parse({ filter }))).data).toHaveLength(1)
})

const inexact = 'cannot be stored exactly: use a field of type TEXT'

test('a number that cannot be stored exactly is an error, and left out of an import', async () => {
  await defineFields()
  const values = { seats: 2 ** 53 }
  await expect(createContact(ctx, { ...row, customFieldValues: values })).rejects.toThrow(inexact)
  const json = `{"email":"ada@example.com","customFieldValues":{"seats":9007199254740993}}`
  const csv = 'email,seats\ngrace@example.com,9007199254740993\nalan@example.com,0.12345678901234567890\n'
  const imports = [await runTestImport(ctx, json, { format: 'ndjson' }), await runTestImport(ctx, csv)]
  const messages = imports.flatMap(({ errors }) => errors.map(({ message }) => message))
  expect(messages).toEqual(Array.from({ length: 3 }, () => `customFieldValues.seats: ${inexact}; left out`))
  const { data } = await listContacts(ctx, ContactQuery.parse({}))
  expect(data.map(({ customFieldValues }) => customFieldValues)).toEqual([{}, {}, {}])
  const query = ContactQuery.parse({ 'customField.seats': '9007199254740993' })
  await expect(listContacts(ctx, query)).rejects.toThrow(inexact)
})
