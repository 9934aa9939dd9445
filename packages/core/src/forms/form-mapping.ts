/** How the fields of a form become the properties of a contact. */
import { textProperties, textPropertyNames } from '../contacts/contact-properties.ts'
import type { ContactInput } from '../contacts/contacts.schema.ts'
import {
  checkCustomValue,
  type CustomFields,
  type CustomValues,
  lockCustomFields,
  readCustomFields,
} from '../contacts/custom-fields/custom-fields.ts'
import type { Ctx } from '../request/context.ts'
import type { Issue } from '../kernel/errors.ts'
import type { FormField } from '../db/schema/index.ts'
import type { FormValues } from './form-values.ts'

type FieldType = FormField['type']

/** A map, as authors choose the names that it is asked for: `constructor` is no property of a contact. */
const propertyTypes: ReadonlyMap<string, readonly FieldType[]> = new Map([
  ['email', ['EMAIL']],
  ...textPropertyNames.map((name) => [name, textProperties[name].fieldTypes] as const),
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

/** What is wrong with where the fields map to. Reads the custom fields only when one is named. */
export async function findMappingIssues(ctx: Ctx, fields: readonly FormField[]): Promise<Issue[]> {
  const custom = fields.some(customKeyOf) ? await readCustomFields(ctx) : new Map()
  const targets = fields.map((field) => field.mapsTo)
  return fields.flatMap((field, index) => {
    const isRepeated = field.mapsTo !== undefined && targets.indexOf(field.mapsTo) < index
    const message = isRepeated ? 'is the target of another field already' : findMappingError(custom, field)
    return message ? [{ path: `fields.${index}.mapsTo`, message }] : []
  })
}

function findMappingError(custom: CustomFields, field: FormField): string | undefined {
  if (field.mapsTo === undefined) return undefined
  const key = customKeyOf(field)
  const definition = key === undefined ? undefined : custom.get(key)
  if (key !== undefined && !definition) return `Unknown custom field "${key}"`
  const types = definition ? customFieldTypes[definition.type] : propertyTypes.get(field.mapsTo)
  if (!types) return `must be one of ${[...propertyTypes.keys()].join(', ')} or ${customPrefix}<key>`
  if (!types.includes(field.type)) return `takes only a field of type ${types.join(', ')}`
  if (definition?.type !== 'SELECT') return undefined
  const missing = field.options?.find((option) => !definition.options.includes(option))
  return missing === undefined ? undefined : `does not know the option "${missing}"`
}

/**
 * What the values say of a contact; undefined when they name no address. A value that its custom field no longer takes,
 * as that has changed since the form was made, is left out: it is the author's mistake, not the person's.
 */
export async function toContactInput(
  ctx: Ctx,
  fields: readonly FormField[],
  values: FormValues,
): Promise<ContactInput | undefined> {
  const mapped = fields.filter((field) => field.mapsTo !== undefined && Object.hasOwn(values, field.id))
  const properties = mapped
    .filter((field) => customKeyOf(field) === undefined)
    .map((field) => [field.mapsTo, values[field.id]] as const)
  const contact = Object.fromEntries(properties) as Partial<ContactInput>
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
  const definitions = await lockCustomFields(ctx, keys)
  const custom: CustomValues = {}
  for (const { key, value } of named) {
    const checked = checkCustomValue(definitions, key, value)
    if ('value' in checked) custom[key] = checked.value
  }
  return custom
}
