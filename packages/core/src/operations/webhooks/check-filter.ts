/** Checks the filter of a webhook against the `data` of its event types. */
import { z } from 'zod'
import { readCustomFieldKeys } from '../../custom-fields/custom-fields.ts'
import { lockLiveKeys } from '../../custom-fields/lock-live-keys.ts'
import { type CustomFieldObject, customFieldObjects, type EventFilter } from '../../db/schema/index.ts'
import { customValues, unchangeable } from '../../events/changes.ts'
import { type EventType, eventTypes } from '../../events/event-definition.ts'
import { invalidField, invalidFields, type Issue } from '../../kernel/errors.ts'
import { requireSize } from '../../kernel/stored-size.ts'
import { suggestForEach } from '../../kernel/suggestion.ts'
import type { Ctx } from '../../request/context.ts'
import { eventDefinitions } from './event-types.ts'

const maxConditions = 10
const maxBytes = 4_096

/** The event of a change of custom values. */
export const updateTypes = {
  CONTACT: 'contact.updated',
  COMPANY: 'company.updated',
  DEAL: 'deal.updated',
} as const satisfies Record<CustomFieldObject, EventType>

type Fields = ReadonlyMap<string, z.ZodType>

interface Webhook {
  eventTypes: readonly string[]
  filter: EventFilter | null
}

/**
 * Throws `validation_error` if a field of the filter is not in the `data` of every event type, or could never have the
 * value. Locks the custom fields that the filter names until the transaction ends: no one deletes them before.
 */
export async function checkFilter(ctx: Ctx, { eventTypes: types, filter }: Webhook): Promise<void> {
  if (filter === null) return
  const { changed, ...conditions } = filter
  const names = Object.keys(filter)
  if (names.length === 0) throw invalidField('filter', 'filter: must have a condition; null stands for no filter')
  if (names.length > maxConditions)
    throw invalidField('filter', `filter: must have at most ${maxConditions} conditions`)
  requireSize('filter', filter, maxBytes)
  if (types.includes('*'))
    throw invalidField('filter', 'filter: is not possible with "*"; name the event types, such as "contact.updated"')
  const fields = types.filter(isEventType).map((type) => ({ type, fields: fieldsOf(type) }))
  const issues = [...checkConditions(fields, conditions), ...(changed ? await checkChanged(ctx, fields, changed) : [])]
  if (issues.length > 0) throw invalidFields(issues)
}

const isEventType = (type: string): type is EventType => (eventTypes as readonly string[]).includes(type)

interface TypeFields {
  type: EventType
  fields: Fields
}

/** The fields that every type has. */
function sharedFields(types: readonly TypeFields[], isIncluded: (schema: z.ZodType) => boolean = () => true): string[] {
  const [first, ...others] = types
  const names = [...(first?.fields ?? [])].filter(([, schema]) => isIncluded(schema)).map(([name]) => name)
  return names.filter((name) => others.every(({ fields }) => fields.has(name)))
}

function checkConditions(types: readonly TypeFields[], conditions: Omit<EventFilter, 'changed'>): Issue[] {
  const known = sharedFields(types, isScalar)
  const unknown = Object.keys(conditions).filter((name) => !known.includes(name))
  const messages = suggestForEach('', unknown, known)
  const issues = unknown.map((name, index) => ({
    path: `filter.${name}`,
    message: `is no string, number or boolean in the data of every event type of the webhook${messages[index] ?? ''}`,
  }))
  const values = Object.entries(conditions).flatMap(([name, condition]) => {
    if (!known.includes(name) || condition === undefined || Array.isArray(condition)) return []
    const given = 'in' in condition ? condition.in : [condition.eq]
    return given.flatMap((value, index): Issue[] => {
      const path = 'in' in condition ? `filter.${name}.in.${index}` : `filter.${name}.eq`
      const mismatches = types.map(({ fields }) => findMismatch(fields.get(name), value))
      const [message] = mismatches.every(Boolean) ? mismatches : []
      return message ? [{ path, message }] : []
    })
  })
  return [...issues, ...values]
}

/** Why no record has this value; undefined if one may. */
function findMismatch(schema: z.ZodType | undefined, value: unknown): string | undefined {
  return schema?.safeParse(value).error?.issues[0]?.message
}

async function checkChanged(ctx: Ctx, types: readonly TypeFields[], changed: readonly string[]): Promise<Issue[]> {
  const other = types.find(({ type }) => !type.endsWith('.updated'))
  if (other) {
    const message = `is only possible with event types of updates, such as "contact.updated", and not with "${other.type}"`
    return [{ path: 'filter.changed', message }]
  }
  const known = sharedFields(types).filter((name) => !['changes', ...unchangeable].includes(name))
  const prefix = `${customValues}.`
  const isCustom = (name: string) => known.includes(customValues) && name.startsWith(prefix)
  const keys = changed.filter(isCustom).map((name) => name.slice(prefix.length))
  const objects = customFieldObjects.filter((object) => types.some(({ type }) => type === updateTypes[object]))
  const live = await inEach(objects, async (object) => [...(await lockLiveKeys(ctx, { object, keys }))])
  const names = new Set([...known, ...live.map((key) => prefix + key)])
  const unknown = changed.filter((name) => !names.has(name))
  const candidates = unknown.some(isCustom) ? await inEach(objects, (object) => readCustomFieldKeys(ctx, object)) : []
  const messages = suggestForEach('', unknown, [...known, ...candidates.map((key) => prefix + key)])
  return unknown.map((name, index) => {
    const message = isCustom(name)
      ? 'unknown custom field'
      : 'is no field of `changes` in every event type of the webhook'
    return { path: `filter.changed.${changed.indexOf(name)}`, message: message + (messages[index] ?? '') }
  })
}

/** Returns the keys of custom fields that each object has. */
async function inEach(
  objects: readonly CustomFieldObject[],
  readKeys: (object: CustomFieldObject) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  let shared: readonly string[] | undefined
  for (const object of objects) {
    const keys = await readKeys(object)
    shared = shared?.filter((key) => keys.includes(key)) ?? keys
  }
  return shared ?? []
}

function fieldsOf(type: EventType): Fields {
  const { schema } = eventDefinitions[type]
  const shape = schema instanceof z.ZodObject ? (schema.shape as Record<string, z.ZodType>) : {}
  return new Map(Object.entries(shape))
}

/** Whether the values of a field are texts, numbers, booleans or null. */
function isScalar(schema: z.ZodType): boolean {
  const json = JSON.stringify(z.toJSONSchema(schema, { io: 'output', unrepresentable: 'any' }))
  return /"(string|number|integer|boolean)"/.test(json) && !/"(object|array)"/.test(json)
}
