import { z } from 'zod'
import { RecordId } from '../kernel/ids.ts'
import { CreatedAt, SingleLine, UpdatedAt } from '../kernel/validation.ts'
import { PageQuery, Sort } from '../request/paging.ts'
import { customFieldObjects, customFieldTypes } from '../db/schema/index.ts'

/** The custom field values of a record. */
export const CustomValues = z
  .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
  .describe('Values by the key of the custom field. A field without a value is left out.')

/** The custom field values that a request sets. `check-custom-values.ts` compares them with the definitions. */
export const CustomValuesChange = z
  .record(
    z.string().max(100),
    z.union([z.string(), z.number(), z.boolean(), z.null()], 'must be a string, a number, true, false or null'),
  )
  .refine((values) => Object.keys(values).length <= 100, 'must have at most 100 fields')

export const CustomField = z
  .object({
    id: RecordId('cfd'),
    object: z.enum(customFieldObjects).describe('The records that have the field: contacts, companies or deals.'),
    key: z.string().describe('The key of the field in `customFieldValues`.'),
    label: z.string().describe('The name of the field for people.'),
    type: z.enum(customFieldTypes).describe('The type of the values.'),
    options: z.array(z.string()).describe('The choices of type `SELECT`. Empty for other types.'),
    createdAt: CreatedAt,
    updatedAt: UpdatedAt,
  })
  .meta({
    id: 'CustomField',
    description: 'A custom field of contacts, companies or deals. `options` are the choices of type SELECT.',
    examples: [
      {
        id: 'cfd_01kag7m3v9e8fs2t4w6x8y0z1b',
        object: 'CONTACT',
        key: 'plan',
        label: 'Plan',
        type: 'SELECT',
        options: ['free', 'pro'],
        createdAt: '2026-11-21T06:35:49.123Z',
        updatedAt: '2026-11-21T06:35:49.123Z',
      },
    ],
  })
export type CustomField = z.output<typeof CustomField>

const options = z
  .array(SingleLine(200, 1))
  .max(200, 'must have at most 200 options')
  .refine((values) => new Set(values).size === values.length, 'must not contain duplicate options')

export const customFieldKey = /^[a-zA-Z][a-zA-Z0-9_]{0,62}$/

export const CustomFieldInput = z
  .strictObject({
    object: z
      .enum(customFieldObjects)
      .default('CONTACT')
      .describe('The records that have the field: contacts, companies or deals. It cannot be changed.'),
    key: z
      .string()
      .regex(customFieldKey, 'must start with a letter and contain only letters, digits and _, at most 63 characters')
      .describe('The key of the field in `customFieldValues`, unique per `object`. It cannot be changed.'),
    label: SingleLine(200, 1).describe('The name of the field for people.'),
    type: z.enum(customFieldTypes).describe('The type of the values. It cannot be changed.'),
    options: options.default([]).describe('The choices. Required for type `SELECT` and not allowed for other types.'),
  })
  .refine((field) => (field.type === 'SELECT') === field.options.length > 0, {
    path: ['options'],
    error: 'is required for type SELECT and not allowed for other types',
  })
  .meta({
    id: 'CustomFieldCreate',
    description: 'A new custom field.',
    examples: [{ key: 'plan', label: 'Plan', type: 'SELECT', options: ['free', 'pro'] }],
  })
export type CustomFieldInput = z.output<typeof CustomFieldInput>

export const CustomFieldChange = z
  .strictObject({
    label: SingleLine(200, 1).describe('The name of the field for people.'),
    options: options.min(1, 'must not be empty').describe('All choices of a field of type `SELECT`.'),
  })
  .partial()
  .meta({
    id: 'CustomFieldUpdate',
    description: 'The fields to change. Omitted fields stay unchanged.',
    examples: [{ label: 'Tariff' }],
  })
export type CustomFieldChange = z.output<typeof CustomFieldChange>

export const CustomFieldQuery = PageQuery.extend({
  object: z.enum(customFieldObjects).optional().describe('Only custom fields of these records.'),
  sort: Sort(['createdAt']),
})
export type CustomFieldQuery = z.output<typeof CustomFieldQuery>
