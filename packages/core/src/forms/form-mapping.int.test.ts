import { beforeAll, expect, test } from 'vitest'
import { CustomFieldInput } from '../custom-fields/custom-fields.schema.ts'
import { deleteCustomField } from '../operations/webhooks/delete-custom-field.ts'
import { updateCustomField, createCustomField } from '../custom-fields/custom-fields.ts'
import type { Ctx } from '../request/context.ts'
import type { FormField } from '../db/schema/index.ts'
import { createTestCtx } from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { toContactInput, findMappingIssues } from './form-mapping.ts'

const database = useTestDatabase()
let ctx: Ctx
beforeAll(async () => {
  ctx = await createTestCtx(database.db)
  for (const type of ['TEXT', 'NUMBER', 'BOOLEAN', 'DATE'] as const) await define({ key: type.toLowerCase(), type })
  await define({ key: 'plan', type: 'SELECT', options: ['Free', 'Paid'] })
})

const define = (given: object) => createCustomField(ctx, CustomFieldInput.parse({ label: 'Some', ...given }))
const field = (type: FormField['type'], mapsTo?: string, more: Partial<FormField> = {}): FormField => ({
  id: 'it',
  label: 'It',
  type,
  required: false,
  ...(mapsTo && { mapsTo }),
  ...more,
})

const valid: [FormField['type'], string][] = [
  ['EMAIL', 'email'],
  ['TEXT', 'firstName'],
  ['TEXT', 'lastName'],
  ['PHONE', 'phone'],
  ['TEXT', 'company'],
  ['TEXTAREA', 'customFieldValues.text'],
  ['EMAIL', 'customFieldValues.text'],
  ['NUMBER', 'customFieldValues.number'],
  ['CHECKBOX', 'customFieldValues.boolean'],
  ['CONSENT', 'customFieldValues.boolean'],
  ['DATE', 'customFieldValues.date'],
]
test.each(valid)('a %s field can map to %s', async (type, mapsTo) => {
  expect(await findMappingIssues(ctx, [field(type, mapsTo)])).toEqual([])
})

const invalid: [FormField['type'], string, RegExp][] = [
  ['TEXT', 'email', /requires a field of type EMAIL/],
  ['TEXTAREA', 'firstName', /requires a field of type TEXT/],
  ['TEXT', 'id', /must be one of email, /],
  ['TEXT', 'emailSubscribedStatus', /must be one of/],
  ['TEXT', 'source', /must be one of/],
  ['TEXT', 'constructor', /must be one of/],
  ['TEXT', '__proto__', /must be one of/],
  ['TEXT', 'toString', /must be one of/],
  ['TEXT', '', /must be one of/],
  ['TEXT', 'customFieldValues', /must be one of/],
  ['TEXT', 'customFieldValues.', /unknown custom field ""/],
  ['TEXT', 'customFieldValues.nope', /unknown custom field "nope"/],
  ['TEXT', 'customFieldValues.constructor', /unknown custom field/],
  ['TEXT', 'customFieldValues.number', /requires a field of type NUMBER/],
  ['NUMBER', 'customFieldValues.text', /requires a field of type TEXT or TEXTAREA or /],
]
test.each(invalid)('a %s field cannot map to "%s"', async (type, mapsTo, message) => {
  expect(await findMappingIssues(ctx, [{ ...field(type), mapsTo }])).toEqual([
    { path: 'fields.0.mapsTo', message: expect.stringMatching(message) },
  ])
})

test('rejects a repeated target and an option that the custom field lacks', async () => {
  const repeated = [field('EMAIL', 'email'), field('EMAIL', 'email', { id: 'again' })]
  expect(await findMappingIssues(ctx, repeated)).toEqual([
    { path: 'fields.1.mapsTo', message: 'is already the target of another field' },
  ])
  const choice = (options: string[]) => [field('SELECT', 'customFieldValues.plan', { options })]
  expect(await findMappingIssues(ctx, choice(['Paid']))).toEqual([])
  expect(await findMappingIssues(ctx, choice(['Paid', 'Gold']))).toEqual([
    { path: 'fields.0.mapsTo', message: 'the custom field has no option "Gold"' },
  ])
})

test('builds a contact from the mapped values if they contain an email', async () => {
  const fields = [
    field('EMAIL', 'email', { id: 'email' }),
    field('TEXT', 'firstName', { id: 'constructor' }),
    field('CHECKBOX', 'customFieldValues.boolean', { id: 'box' }),
    field('TEXT', undefined, { id: 'unmapped' }),
  ]
  expect(await toContactInput(ctx, fields, { constructor: 'Ada' })).toBeUndefined()
  expect(await toContactInput(ctx, fields, { email: 'a@example.com' })).toEqual({
    email: 'a@example.com',
    customFieldValues: {},
  })
  const values = { email: 'a@example.com', constructor: 'Ada', box: false, unmapped: 'x' }
  expect(await toContactInput(ctx, fields, values)).toEqual({
    email: 'a@example.com',
    firstName: 'Ada',
    customFieldValues: { boolean: false },
  })
})

test('leaves out values of deleted or changed custom fields', async () => {
  const [gone, changed] = [
    await define({ key: 'gone', type: 'TEXT' }),
    await define({ key: 'size', type: 'SELECT', options: ['S', 'L'] }),
  ]
  const fields = [
    field('EMAIL', 'email', { id: 'email' }),
    field('TEXT', 'customFieldValues.gone', { id: 'gone' }),
    field('SELECT', 'customFieldValues.size', { id: 'size', options: ['S', 'L'] }),
  ]
  const values = { email: 'a@example.com', gone: 'x', size: 'L' }
  expect((await toContactInput(ctx, fields, values))?.customFieldValues).toEqual({ gone: 'x', size: 'L' })
  await deleteCustomField(ctx, gone.id)
  await updateCustomField(ctx, changed.id, { options: ['S'] })
  expect((await toContactInput(ctx, fields, values))?.customFieldValues).toEqual({})
})
