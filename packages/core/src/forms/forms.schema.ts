import { textPropertyNames } from '../contacts/contact-properties.ts'
import { z } from 'zod'
import { SingleLine, Timestamp } from '../kernel/validation.ts'
import { Id, RecordId } from '../kernel/ids.ts'
import { PageQuery, Sort } from '../request/paging.ts'
import { formFieldTypes } from '../db/schema/index.ts'
import { Tags } from '../contacts/contacts.schema.ts'

/** Id of the honeypot, a hidden input that only bots fill in. No form field can have this id. */
export const honeypotId = '_website'

export const FormField = z
  .object({
    id: z.string(),
    label: z.string(),
    type: z.enum(formFieldTypes),
    required: z.boolean(),
    options: z.array(z.string()).optional(),
    mapsTo: z.string().optional(),
  })
  .meta({ id: 'FormField' })

const PublicFormField = FormField.omit({ mapsTo: true })
  .extend({ autocomplete: z.string().optional().describe('HTML `autocomplete` value') })
  .meta({ id: 'PublicFormField' })

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

export const Form = z
  .object({
    id: RecordId('frm'),
    name: z.string(),
    fields: z.array(FormField),
    listId: RecordId('lst').nullable(),
    tags: z.array(z.string()),
    successMessage: z.string(),
    redirectUrl: z.string().nullable(),
    enabled: z.boolean(),
    spamCount: z.number().int().describe('The number of submissions that filled in the honeypot'),
    createdAt: Timestamp,
    updatedAt: Timestamp,
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
    name: z.string(),
    fields: z.array(PublicFormField),
    successMessage: z.string(),
    redirectUrl: z.string().nullable(),
  })
  .meta({
    id: 'PublicForm',
    description: 'The public part of a form.',
    examples: [{ ...example, fields: [{ ...email, autocomplete: 'email' }, ...otherFields] }],
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
    label: SingleLine(2_000, 1).describe('For type CONSENT, the full wording that visitors agree to'),
    type: z.enum(formFieldTypes),
    required: z.boolean().default(false),
    options: options.optional().describe('The choices. Required for type SELECT and not allowed for other types.'),
    mapsTo: z
      .string()
      .max(100)
      .optional()
      .describe(
        `${['email', ...textPropertyNames].map((name) => `\`${name}\``).join(', ')} or \`customFieldValues.<key>\``,
      ),
  })
  .refine((field) => (field.type === 'SELECT') === (field.options !== undefined), {
    path: ['options'],
    error: 'is required for type SELECT and not allowed for other types',
  })
export type FormFieldInput = z.output<typeof FormFieldInput>

const redirectUrl = SingleLine(2_048)
  .refine(isWebAddress, 'must be a URL such as https://example.com/thanks')
  .nullable()

/** Restricts the characters of the host: the origin is part of a security policy, where `;` and `,` are separators. */
function isWebAddress(text: string) {
  const url = URL.parse(text)
  // `URL.parse` accepts "http:evil", but a browser may resolve it relative to the current page.
  const isPlain =
    url !== null &&
    /^https?:\/\//i.test(text) &&
    url.username === '' &&
    url.password === '' &&
    /^[\w.:[\]-]+$/.test(url.host)
  return isPlain
}

const writable = {
  name: SingleLine(200, 1),
  fields: z.array(FormFieldInput).min(1, 'must not be empty').max(100, 'must have at most 100 fields'),
  listId: Id('lst').nullable(),
  tags: Tags,
  successMessage: SingleLine(2_000, 1),
  redirectUrl,
  enabled: z.boolean(),
}

export const FormInput = z
  .strictObject({
    ...writable,
    listId: writable.listId
      .default(null)
      .describe(
        'Visitors who give every consent of the form are subscribed to this list. Requires a field of type CONSENT and a field that maps to `email`.',
      ),
    tags: writable.tags.default([]).describe('Added to every contact that the form creates or updates'),
    successMessage: writable.successMessage.default('Thank you.'),
    redirectUrl: writable.redirectUrl.default(null).describe('Where visitors are redirected after a submission'),
    enabled: writable.enabled.default(true),
  })
  .meta({
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
  .meta({ examples: [{ enabled: false }] })
export type FormChange = z.output<typeof FormChange>

export const FormQuery = PageQuery.extend({ sort: Sort(['createdAt']) })
export type FormQuery = z.output<typeof FormQuery>

export const Submission = z
  .object({
    id: RecordId('sub'),
    formId: RecordId('frm'),
    contactId: RecordId('con').nullable(),
    values: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
    consents: z.array(z.object({ fieldId: z.string(), wording: z.string() })),
    createdAt: Timestamp,
  })
  .meta({
    id: 'Submission',
    description: 'A form submission. `consents` contains the exact wording that the visitor agreed to.',
    examples: [
      {
        id: 'sub_01kag7m3v9e8fs2t4w6x8y0z1b',
        formId: 'frm_01kag7m3v9e8fs2t4w6x8y0z1b',
        contactId: 'con_01kag7m3v9e8fs2t4w6x8y0z1b',
        values: { email: 'ada@example.com', consent: true },
        consents: [{ fieldId: 'consent', wording: 'Send me the monthly newsletter' }],
        createdAt: '2026-11-21T06:35:49.123Z',
      },
    ],
  })
export type Submission = z.output<typeof Submission>

export const SubmitInput = z
  .strictObject({ values: z.record(z.string(), z.unknown()) })
  .meta({ examples: [{ values: { email: 'ada@example.com', message: 'Hello' } }] })
export type SubmitInput = z.output<typeof SubmitInput>

export const SubmitResult = z
  .object({ success: z.literal(true), submissionId: RecordId('sub') })
  .meta({ id: 'SubmitResult', examples: [{ success: true, submissionId: 'sub_01kag7m3v9e8fs2t4w6x8y0z1b' }] })
export type SubmitResult = z.output<typeof SubmitResult>

export const SubmissionQuery = PageQuery.extend({ sort: Sort(['createdAt']) })
export type SubmissionQuery = z.output<typeof SubmissionQuery>
