/** Validates form values. The messages are shown to visitors. */
import { z } from 'zod'
import { isExactNumber, isExactNumberText } from '../kernel/values/exact-number.ts'
import { trimInvisible } from '../kernel/values/text.ts'
import { Phone } from '../kernel/values/phone.ts'
import { invalidField, invalidFields, type Issue } from '../kernel/errors.ts'
import { exceedsSize } from '../kernel/stored-size.ts'
import { suggestForEach } from '../kernel/suggestion.ts'
import { Email, MultiLine, normalizeText, SingleLine } from '../kernel/validation.ts'
import type { FormField } from '../db/schema/index.ts'
import { type ChosenLanguage, english } from '../kernel/values/languages.ts'
import { formTexts } from './texts/form-texts.ts'

export type FormValues = Record<string, string | number | boolean>

/**
 * Returns the values to store: trimmed, in the type of their field, without empty values. Throws `validation_error`
 * with one issue for each invalid value and each unknown field, by field id, or for the longest value if they are too
 * large together. The messages are in the language of the visitor.
 */
export function checkFormValues(
  fields: readonly FormField[],
  input: Record<string, unknown>,
  language: ChosenLanguage = english,
): FormValues {
  const known = fields.map((field) => field.id)
  const unknown = Object.keys(input).filter((id) => !known.includes(id))
  const messages = suggestForEach('unknown field', unknown, known)
  const issues: Issue[] = unknown.map((path, index) => ({ path, message: messages[index] ?? '' }))
  const values: FormValues = {}
  for (const field of fields) {
    const result = checkFormValue(field, Object.hasOwn(input, field.id) ? input[field.id] : undefined, language)
    if ('message' in result) issues.push({ path: field.id, message: result.message })
    else if (result.value !== undefined) values[field.id] = result.value
  }
  if (issues.length > 0) throw invalidFields(issues)
  if (exceedsSize(values, maxValueBytes)) {
    throw invalidField(findLongest(values), formTexts[language.language].tooLarge)
  }
  return values
}

const maxValueBytes = 32_768

function findLongest(values: FormValues): string {
  const [longest = ''] = Object.keys(values).toSorted((a, b) => lengthOf(values[b]) - lengthOf(values[a]))
  return longest
}

const lengthOf = (value: unknown) => String(value).length

function checkFormValue(
  field: FormField,
  input: unknown,
  language: ChosenLanguage,
): { value: FormValues[string] | undefined } | { message: string } {
  const texts = formTexts[language.language]
  const isCheckbox = field.type === 'CHECKBOX' || field.type === 'CONSENT'
  const isEmpty = input === undefined || input === null || (typeof input === 'string' && isEmptyText(field, input))
  if (field.required && isCheckbox && (isEmpty || input === false)) return { message: texts.emptyBox }
  if (field.required && isEmpty) return { message: texts.empty }
  if (isEmpty) return { value: undefined }
  const result = checks[field.type](field).safeParse(input)
  return result.success ? { value: result.data } : { message: describeCheck(field, language) }
}

/** Whether nothing is left without invisible characters, and without the `tel:` of a phone number. */
const isEmptyText = ({ type }: FormField, text: string) =>
  trimInvisible(text) === '' || (type === 'PHONE' && Phone.safeParse(text).data === '')

const checks: Record<FormField['type'], (field: FormField) => z.ZodType<FormValues[string]>> = {
  TEXT: (field) => SingleLine(maxLength(field)),
  TEXTAREA: (field) => MultiLine(maxLength(field)),
  EMAIL: () => Email,
  PHONE: () => Phone,
  NUMBER: () => z.number().refine(isExactNumber),
  DATE: () => z.iso.date(),
  SELECT: ({ options = [] }) => z.string().overwrite(normalizeText).pipe(z.enum(options)),
  CHECKBOX: () => z.boolean(),
  CONSENT: () => z.boolean(),
}

/** Says what the field accepts. */
function describeCheck(field: FormField, { language, locale }: ChosenLanguage): string {
  const texts = formTexts[language]
  const length = maxLength(field).toLocaleString(locale)
  const descriptions: Record<FormField['type'], string> = {
    TEXT: texts.line(length),
    TEXTAREA: texts.text(length),
    EMAIL: texts.email,
    PHONE: texts.phone,
    NUMBER: texts.number,
    DATE: texts.date,
    SELECT: texts.option,
    CHECKBOX: texts.box,
    CONSENT: texts.box,
  }
  return descriptions[field.type]
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
