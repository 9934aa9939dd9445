import { mappedPropertyNames } from '../contacts/contact-properties.ts'
import { z } from 'zod'
import { CreatedAt, SingleLine, UpdatedAt } from '../kernel/validation.ts'
import { Id, RecordId } from '../kernel/ids.ts'
import { isWebAddress } from '../kernel/web-address.ts'
import { OptionalLocale } from '../kernel/values/locale.ts'
import { PageQuery, Sort } from '../request/paging.ts'
import { formFieldTypes } from '../db/schema/index.ts'
import { Tags } from '../kernel/values/tags.ts'

/** Id of the honeypot, a hidden input that only bots fill in. No form field can have this id. */
export const honeypotId = '_website'

/** What a field of type CONSENT can ask for, beside the subscription to the list of the form. */
const consentPurposes = ['TRACKING'] as const

export const FormField = z
  .object({
    id: z.string().describe('The id of the field, unique within the form. A submission has its value under this id.'),
    label: z.string().describe('The label. For type `CONSENT`, the wording that visitors agree to.'),
    type: z.enum(formFieldTypes).describe('The type of the input.'),
    required: z.boolean().describe('Whether a submission needs a value.'),
    options: z.array(z.string()).optional().describe('The choices. Only for type `SELECT`.'),
    mapsTo: z
      .string()
      .optional()
      .describe('The field of the contact that gets the value. Left out if the value is only stored.'),
    purpose: z
      .enum(consentPurposes)
      .optional()
      .describe(
        '`TRACKING`: visitors who check the field of type `CONSENT` grant the tracking of opens and clicks. Left out for other fields.',
      ),
  })
  .meta({ id: 'FormField', description: 'A field of a form.' })

const PublicFormField = FormField.omit({ mapsTo: true })
  .extend({
    autocomplete: z
      .string()
      .optional()
      .describe('The value of the HTML attribute `autocomplete`. Left out if there is none.'),
  })
  .meta({ id: 'PublicFormField', description: 'A field of a form, as visitors see it.' })

const example = {
  id: 'frm_01kag7m3v9e8fs2t4w6x8y0z1b',
  name: 'Contact us',
  successMessage: 'Thank you. We will be in touch.',
  redirectUrl: null,
}
const email = { id: 'email', label: 'Email', type: 'EMAIL', required: true }
const otherFields = [
  { id: 'message', label: 'Your message', type: 'TEXTAREA', required: false },
  { id: 'consent', label: 'Send me the monthly newsletter', type: 'CONSENT', required: false },
]

const localeDescription =
  'The language that the form is written in, as a language tag (BCP 47) such as `de`. `null`: that of the list, or of the visitor.'

export const Form = z
  .object({
    id: RecordId('frm'),
    name: z.string().describe('The name of the form.'),
    fields: z.array(FormField).describe('The fields in their order.'),
    listId: RecordId('lst')
      .nullable()
      .describe('The list that consenting visitors are subscribed to. `null` for none.'),
    tags: z.array(z.string()).describe('Added to every contact that the form creates or updates.'),
    successMessage: z.string().describe('The text that visitors see after a submission.'),
    redirectUrl: z
      .string()
      .nullable()
      .describe('Where visitors are redirected after a submission. `null` for the thank-you page.'),
    enabled: z.boolean().describe('Whether the form accepts submissions.'),
    locale: z.string().nullable().describe(localeDescription),
    spamCount: z
      .number()
      .int()
      .describe('The number of submissions that were dropped because they filled in the honeypot.'),
    createdAt: CreatedAt,
    updatedAt: UpdatedAt,
  })
  .meta({
    id: 'Form',
    description:
      'A form for any website. Submissions are validated against its fields, stored, and mapped to a contact.',
    examples: [
      {
        ...example,
        fields: [{ ...email, mapsTo: 'email' }, ...otherFields],
        listId: 'lst_01kag7m3v9e8fs2t4w6x8y0z1b',
        tags: ['website'],
        enabled: true,
        locale: null,
        spamCount: 0,
        createdAt: '2026-11-21T06:35:49.123Z',
        updatedAt: '2026-11-21T06:35:49.123Z',
      },
    ],
  })
export type Form = z.output<typeof Form>

export const PublicForm = z
  .object({
    id: RecordId('frm'),
    name: z.string().describe('The name of the form.'),
    fields: z.array(PublicFormField).describe('The fields in their order.'),
    successMessage: z.string().describe('The text that visitors see after a submission.'),
    redirectUrl: z
      .string()
      .nullable()
      .describe('Where visitors are redirected after a submission. `null` for the thank-you page.'),
    asksByEmail: z
      .boolean()
      .describe(
        'Whether visitors who consent get an email with a link, with which they confirm: the form has a list that visitors can join, or a field for tracking.',
      ),
    accentColor: z
      .string()
      .nullable()
      .describe(
        'The accent color of the workspace, as `#rrggbb`, with enough contrast for white text. `null` for the default.',
      ),
    locale: z.string().nullable().describe(localeDescription),
  })
  .meta({
    id: 'PublicForm',
    description: 'The public part of a form.',
    examples: [
      {
        ...example,
        fields: [{ ...email, autocomplete: 'email' }, ...otherFields],
        asksByEmail: true,
        accentColor: null,
        locale: null,
      },
    ],
  })
export type PublicForm = z.output<typeof PublicForm>

const options = z
  .array(SingleLine(200, 1))
  .min(1, 'must not be empty')
  .max(200, 'must have at most 200 options')
  .refine((values) => new Set(values).size === values.length, 'must not contain duplicate options')

const FormFieldInput = z
  .strictObject({
    id: z
      .string()
      .regex(
        /^[a-zA-Z][a-zA-Z0-9_-]{0,63}$/,
        'must start with a letter and contain only letters, digits, _ and -, at most 64 characters',
      )
      .optional()
      .describe('Unique within the form. Default: derived from the label.'),
    label: SingleLine(2_000, 1).describe('The label. For type `CONSENT`, the full wording that visitors agree to.'),
    type: z.enum(formFieldTypes).describe('The type of the input.'),
    required: z.boolean().default(false).describe('Whether a submission needs a value.'),
    options: options.optional().describe('The choices. Required for type SELECT and not allowed for other types.'),
    mapsTo: z
      .string()
      .max(100)
      .optional()
      .describe(
        `The field of the contact that gets the value: ${['email', ...mappedPropertyNames].map((name) => `\`${name}\``).join(', ')} or \`customFieldValues.<key>\`. Default: none.`,
      ),
    purpose: z
      .enum(consentPurposes, `must be ${consentPurposes.join(', ')}`)
      .optional()
      .describe(
        '`TRACKING`: the label is the wording with which visitors grant the tracking of opens and clicks, once they have used the link in an email. Only for type `CONSENT`, which must not be required. Default: the consent to the list of the form.',
      ),
  })
  .refine((field) => field.purpose === undefined || field.type === 'CONSENT', {
    path: ['purpose'],
    error: 'is only allowed for type CONSENT',
  })
  .refine((field) => field.purpose === undefined || !field.required, {
    path: ['required'],
    error: 'must be false for purpose TRACKING, because consent must be free',
  })
  .refine((field) => (field.type === 'SELECT') === (field.options !== undefined), {
    path: ['options'],
    error: 'is required for type SELECT and not allowed for other types',
  })
export type FormFieldInput = z.output<typeof FormFieldInput>

const redirectUrl = SingleLine(2_048)
  .refine((text) => isWebAddress(text), 'must be a URL such as https://example.com/thanks')
  .nullable()

const writable = {
  name: SingleLine(200, 1).describe('The name of the form.'),
  fields: z
    .array(FormFieldInput)
    .min(1, 'must not be empty')
    .max(100, 'must have at most 100 fields')
    .describe('The fields in their order, at most 32 KiB as JSON.'),
  listId: Id('lst')
    .nullable()
    .describe(
      'Visitors who give every consent of the form, but for the purpose `TRACKING`, are subscribed to this list. Requires such a field of type `CONSENT` and a field that maps to `email`. `null` for none.',
    ),
  tags: Tags.describe('Added to every contact that the form creates or updates.'),
  successMessage: SingleLine(2_000, 1).describe('The text that visitors see after a submission.'),
  redirectUrl: redirectUrl.describe('Where visitors are redirected after a submission. `null` for the thank-you page.'),
  enabled: z.boolean().describe('Whether the form accepts submissions.'),
  locale: OptionalLocale.describe(localeDescription),
}

export const FormInput = z
  .strictObject({
    ...writable,
    listId: writable.listId.default(null),
    tags: writable.tags.default([]),
    successMessage: writable.successMessage
      .optional()
      .describe(
        'The text that visitors see after a submission. Default: “Thank you.” in the language of the form, or in English.',
      ),
    redirectUrl: writable.redirectUrl.default(null),
    enabled: writable.enabled.default(true),
    locale: writable.locale.default(null),
  })
  .meta({
    id: 'FormCreate',
    description: 'A new form.',
    examples: [
      {
        name: 'Contact us',
        fields: [
          { label: 'Email', type: 'EMAIL', required: true, mapsTo: 'email' },
          { label: 'Your message', type: 'TEXTAREA' },
        ],
      },
    ],
  })
export type FormInput = z.output<typeof FormInput>

export const FormChange = z
  .strictObject(writable)
  .partial()
  .meta({
    id: 'FormUpdate',
    description: 'The fields of the form to change. Omitted fields stay unchanged.',
    examples: [{ enabled: false }],
  })
export type FormChange = z.output<typeof FormChange>

export const FormQuery = PageQuery.extend({ sort: Sort(['createdAt']) })
export type FormQuery = z.output<typeof FormQuery>
