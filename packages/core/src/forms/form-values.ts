/** Validates form values. The messages are shown to visitors. */
import { z } from 'zod'
import { isExactNumber, isExactNumberText } from '../kernel/values/exact-number.ts'
import { Phone } from '../kernel/values/phone.ts'
import { invalidField, invalidFields, type Issue } from '../kernel/errors.ts'
import { exceedsSize } from '../kernel/stored-size.ts'
import { suggestForEach } from '../kernel/suggestion.ts'
import { Email, MultiLine, normalizeText, SingleLine } from '../kernel/validation.ts'
import type { FormField } from '../db/schema/index.ts'

export type FormValues = Record<string, string | number | boolean>

/**
 * Returns the values to store: trimmed, in the type of their field, without empty values. Throws `validation_error`
 * with one issue for each invalid value and each unknown field, by field id, or for the longest value if they are too
 * large together.
 */
export function checkFormValues(fields: readonly FormField[], input: Record<string, unknown>): FormValues {
  const known = fields.map((field) => field.id)
  const unknown = Object.keys(input).filter((id) => !known.includes(id))
  const messages = suggestForEach('unknown field', unknown, known)
  const issues: Issue[] = unknown.map((path, index) => ({ path, message: messages[index] ?? '' }))
  const values: FormValues = {}
  for (const field of fields) {
    const result = checkFormValue(field, Object.hasOwn(input, field.id) ? input[field.id] : undefined)
    if ('message' in result) issues.push({ path: field.id, message: result.message })
    else if (result.value !== undefined) values[field.id] = result.value
  }
  if (issues.length > 0) throw invalidFields(issues)
  if (exceedsSize(values, { maxBytes: maxValueBytes })) throw invalidField(findLongest(values), tooLarge)
  return values
}

const maxValueBytes = 32_768
const tooLarge = 'Please shorten your answers. Together they can have at most 32 KiB.'

function findLongest(values: FormValues): string {
  const [longest = ''] = Object.keys(values).toSorted((a, b) => lengthOf(values[b]) - lengthOf(values[a]))
  return longest
}

const lengthOf = (value: unknown) => String(value).length

function checkFormValue(
  field: FormField,
  input: unknown,
): { value: FormValues[string] | undefined } | { message: string } {
  const isCheckbox = field.type === 'CHECKBOX' || field.type === 'CONSENT'
  const isEmpty = input === undefined || input === null || (typeof input === 'string' && input.trim() === '')
  if (field.required && isCheckbox && (isEmpty || input === false)) return { message: 'Please check this box.' }
  if (field.required && isEmpty) return { message: 'Please fill out this field.' }
  if (isEmpty) return { value: undefined }
  const { schema, message } = checks[field.type](field)
  const result = schema.safeParse(input)
  return result.success ? { value: result.data } : { message }
}

interface Check {
  schema: z.ZodType<FormValues[string]>
  message: string
}

const checks: Record<FormField['type'], (field: FormField) => Check> = {
  TEXT: (field) => ({
    schema: SingleLine(maxLength(field)),
    message: `Please enter a single line of at most ${maxLength(field).toLocaleString('en')} characters.`,
  }),
  TEXTAREA: (field) => ({
    schema: MultiLine(maxLength(field)),
    message: `Please enter at most ${maxLength(field).toLocaleString('en')} characters.`,
  }),
  EMAIL: () => ({ schema: Email, message: 'Please enter an email address such as ada@example.com.' }),
  PHONE: () => ({ schema: Phone, message: 'Please enter a phone number such as +44 20 7946 0958.' }),
  NUMBER: () => ({ schema: z.number().refine(isExactNumber), message: 'Please enter a number of at most 15 digits.' }),
  DATE: () => ({ schema: z.iso.date(), message: 'Please enter a date such as 2026-11-21.' }),
  SELECT: ({ options = [] }) => ({
    schema: z.string().overwrite(normalizeText).pipe(z.enum(options)),
    message: 'Please choose one of the options.',
  }),
  CHECKBOX: () => ({ schema: z.boolean(), message: 'Please check or uncheck this box.' }),
  CONSENT: () => ({ schema: z.boolean(), message: 'Please check or uncheck this box.' }),
}

/** The maximum length of a text, which its `mapsTo` target must be able to store. */
function maxLength(field: FormField): number {
  if (field.type === 'TEXTAREA') return field.mapsTo ? 2_000 : 20_000
  return field.mapsTo && !field.mapsTo.startsWith('customFieldValues.') ? 200 : 2_000
}

/** Converts the values of an HTML form post, where every value is text and unchecked boxes are missing. */
export function parsePostedValues(
  fields: readonly FormField[],
  texts: Record<string, string>,
): Record<string, unknown> {
  const values: Record<string, unknown> = { ...texts }
  for (const { id, type } of fields) {
    const text = Object.hasOwn(texts, id) ? texts[id] : undefined
    if (type === 'CHECKBOX' || type === 'CONSENT') values[id] = text !== undefined
    if (type === 'NUMBER' && text?.trim() && isExactNumberText(text)) values[id] = Number(text)
  }
  return values
}
