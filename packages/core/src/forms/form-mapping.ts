/** Maps form fields to properties of a contact. */
import { textProperties, mappedPropertyNames } from '../contacts/contact-properties.ts'
import type { NewContactInput } from '../contacts/contacts.schema.ts'
import {
  checkCustomValue,
  type CustomFields,
  type CustomValues,
  lockCustomFields,
  findCustomFields,
  readCustomFieldKeys,
} from '../custom-fields/custom-fields.ts'
import type { Ctx } from '../request/context.ts'
import { withSuggestion } from '../kernel/suggestion.ts'
import type { Issue } from '../kernel/errors.ts'
import type { FormField } from '../db/schema/index.ts'
import type { FormValues } from './form-values.ts'

type FieldType = FormField['type']

/** A map, because `mapsTo` is arbitrary input: an object would also have inherited names such as `constructor`. */
const propertyTypes: ReadonlyMap<string, readonly FieldType[]> = new Map([
  ['email', ['EMAIL']],
  ...mappedPropertyNames.map((name) => [name, textProperties[name].fieldTypes] as const),
])

const customFieldTypes: Record<'TEXT' | 'NUMBER' | 'BOOLEAN' | 'DATE' | 'SELECT', readonly FieldType[]> = {
  TEXT: ['TEXT', 'TEXTAREA', 'EMAIL', 'PHONE', 'SELECT'],
  NUMBER: ['NUMBER'],
  BOOLEAN: ['CHECKBOX', 'CONSENT'],
  DATE: ['DATE'],
  SELECT: ['SELECT'],
}

const customPrefix = 'customFieldValues.'
const customKeyOf = ({ mapsTo }: FormField) =>
  mapsTo?.startsWith(customPrefix) ? mapsTo.slice(customPrefix.length) : undefined

/** Validates the `mapsTo` of fields. Reads only the custom fields that are targets. */
export async function findMappingIssues(ctx: Ctx, fields: readonly FormField[]): Promise<Issue[]> {
  const keys = fields.flatMap((field) => customKeyOf(field) ?? [])
  const custom = await findCustomFields(ctx, { object: 'CONTACT', keys })
  const suggestions = keys.some((key) => !custom.has(key)) ? await readCustomFieldKeys(ctx, 'CONTACT') : []
  const targets = fields.map((field) => field.mapsTo)
  return fields.flatMap((field, index) => {
    const isRepeated = field.mapsTo !== undefined && targets.indexOf(field.mapsTo) < index
    const message = isRepeated ? 'is already the target of another field' : findMappingError(field, custom, suggestions)
    return message ? [{ path: `fields.${index}.mapsTo`, message }] : []
  })
}

function findMappingError(field: FormField, custom: CustomFields, suggestions: string[]): string | undefined {
  if (field.mapsTo === undefined) return undefined
  const key = customKeyOf(field)
  const definition = key === undefined ? undefined : custom.get(key)
  if (key !== undefined && !definition) return withSuggestion(`unknown custom field "${key}"`, key, suggestions)
  const types = definition ? customFieldTypes[definition.type] : propertyTypes.get(field.mapsTo)
  if (!types) return `must be one of ${[...propertyTypes.keys()].join(', ')} or ${customPrefix}<key>`
  if (!types.includes(field.type)) return `requires a field of type ${types.join(' or ')}`
  if (definition?.type !== 'SELECT') return undefined
  const missing = field.options?.find((option) => !definition.options.includes(option))
  return missing === undefined ? undefined : `the custom field has no option "${missing}"`
}

/**
 * Builds the contact from form values; undefined if they contain no email. A value that its custom field no longer
 * accepts is left out: the form is outdated, which is not the visitor's mistake.
 */
export async function toContactInput(
  ctx: Ctx,
  fields: readonly FormField[],
  values: FormValues,
): Promise<NewContactInput | undefined> {
  const mapped = fields.filter((field) => field.mapsTo !== undefined && Object.hasOwn(values, field.id))
  const properties = mapped
    .filter((field) => customKeyOf(field) === undefined)
    .map((field) => [field.mapsTo, values[field.id]] as const)
  const contact = Object.fromEntries(properties) as Partial<NewContactInput>
  const { email } = contact
  if (email === undefined) return undefined
  return { ...contact, email, customFieldValues: await toCustomValues(ctx, mapped, values) }
}

async function toCustomValues(ctx: Ctx, mapped: FormField[], values: FormValues): Promise<CustomValues> {
  const named = mapped.flatMap((field) => {
    const key = customKeyOf(field)
    return key === undefined ? [] : [{ key, value: values[field.id] }]
  })
  if (named.length === 0) return {}
  const keys = named.map(({ key }) => key)
  const definitions = await lockCustomFields(ctx, { object: 'CONTACT', keys })
  const custom: CustomValues = {}
  for (const { key, value } of named) {
    const checked = checkCustomValue(definitions, key, value)
    if ('value' in checked) custom[key] = checked.value
  }
  return custom
}
