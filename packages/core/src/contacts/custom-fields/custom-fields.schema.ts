import { z } from 'zod'
import { RecordId } from '../../kernel/ids.ts'
import { SingleLine, Timestamp } from '../../kernel/validation.ts'
import { PageQuery, Sort } from '../../request/paging.ts'
import { customFieldTypes } from '../../db/schema/index.ts'

export const CustomField = z
  .object({
    id: RecordId('cfd'),
    key: z.string(),
    label: z.string(),
    type: z.enum(customFieldTypes),
    options: z.array(z.string()),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({
    id: 'CustomField',
    description: 'A custom field of contacts. `options` are the choices of type SELECT.',
    examples: [
      {
        id: 'cfd_01kag7m3v9e8fs2t4w6x8y0z1b',
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

export const CustomFieldInput = z
  .strictObject({
    key: z
      .string()
      .regex(
        /^[a-zA-Z][a-zA-Z0-9_]{0,62}$/,
        'must start with a letter and contain only letters, digits and _, at most 63 characters',
      ),
    label: SingleLine(200, 1),
    type: z.enum(customFieldTypes),
    options: options.default([]),
  })
  .refine((field) => (field.type === 'SELECT') === field.options.length > 0, {
    path: ['options'],
    error: 'is required for type SELECT and not allowed for other types',
  })
  .meta({ examples: [{ key: 'plan', label: 'Plan', type: 'SELECT', options: ['free', 'pro'] }] })
export type CustomFieldInput = z.output<typeof CustomFieldInput>

export const CustomFieldChange = z
  .strictObject({ label: SingleLine(200, 1), options: options.min(1, 'must not be empty') })
  .partial()
  .meta({ examples: [{ label: 'Tariff' }] })
export type CustomFieldChange = z.output<typeof CustomFieldChange>

export const CustomFieldQuery = PageQuery.extend({ sort: Sort(['createdAt']) })
export type CustomFieldQuery = z.output<typeof CustomFieldQuery>
