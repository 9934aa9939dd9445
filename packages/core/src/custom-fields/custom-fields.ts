import { and, eq, inArray, isNull } from 'drizzle-orm'
import { z } from 'zod'
import { audit } from '../audit/audit.ts'
import { byId } from '../request/by-id.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { onConstraint } from '../db/database-errors.ts'
import { conflict, invalidField, type Issue, notFound, truncateText } from '../kernel/errors.ts'
import { suggestForEach, withSuggestion } from '../kernel/suggestion.ts'
import { exceedsSize } from '../kernel/stored-size.ts'
import { timeOfUpdate } from '../kernel/time-of-update.ts'
import { inexactNumber, isExactNumber, isExactNumberText } from '../kernel/values/exact-number.ts'
import { trimInvisible } from '../kernel/values/text.ts'
import { CalendarDateInput, MultiLine, normalizeText, timestampNow } from '../kernel/validation.ts'
import { withoutUndefined } from '../kernel/without-undefined.ts'
import { type CustomFieldId, newId } from '../kernel/ids.ts'
import { enqueue } from '../work/enqueue.ts'
import { requireQuota } from '../quotas/require-quota.ts'
import { requireOptionQuota } from './option-quota.ts'
import { byCreation, type Page, readPage } from '../request/paging.ts'
import { isCreatedInRange } from '../request/time-range.ts'
import { customFields } from '../db/schema/index.ts'
import {
  type CustomField,
  type CustomFieldChange,
  type CustomFieldInput,
  customFieldKey,
  type CustomFieldQuery,
} from './custom-fields.schema.ts'
import { updateStatement } from '../db/json-rows.ts'

export type CustomValue = string | number | boolean
export type CustomValues = Record<string, CustomValue>
type CustomFieldRow = typeof customFields.$inferSelect
/** The definitions of a workspace, by key. */
export type CustomFields = ReadonlyMap<string, Pick<CustomFieldRow, 'label' | 'type' | 'options'>>

/**
 * Creates a custom field. Throws `already_exists` if the key is taken or its former field is still being removed, and
 * `quota_exceeded` if the workspace has the maximum number of fields or of bytes of options.
 */
export async function createCustomField(ctx: Ctx, input: CustomFieldInput): Promise<CustomField> {
  const now = timestampNow()
  const customField: CustomFieldRow = {
    workspaceId: ctx.workspaceId,
    id: newId('cfd'),
    key: input.key,
    label: input.label,
    type: input.type,
    options: input.options,
    removedAt: null,
    createdAt: now,
    updatedAt: now,
  }
  await inTransaction(ctx, async (ctx) => {
    await requireQuota(ctx, 'customFields', { count: () => countCustomFields(ctx) })
    await requireOptionQuota(ctx, input.options)
    await ctx.db
      .insert(customFields)
      .values(customField)
      .catch(
        onConstraint('custom_fields_key_key', () =>
          conflict('already_exists', `Custom field "${input.key}" already exists or is still being removed`),
        ),
      )
  })
  return toCustomField(customField)
}

export function countCustomFields(ctx: Ctx): Promise<number> {
  return ctx.db.$count(customFields, isLiveInWorkspace(ctx))
}

/** Reads one custom field. */
export async function readCustomField(ctx: Ctx, id: CustomFieldId): Promise<CustomField> {
  const [row] = await ctx.db.select().from(customFields).where(isLiveCustomField(ctx, id))
  if (!row) throw notFound('Custom field')
  return toCustomField(row)
}

export async function listCustomFields(ctx: Ctx, query: CustomFieldQuery): Promise<Page<CustomField>> {
  const page = await readPage<CustomFieldRow>(ctx, {
    name: 'custom-fields',
    query,
    ...byCreation<CustomFieldRow>(customFields),
    read: ({ after, orderBy, limit }) =>
      ctx.db
        .select()
        .from(customFields)
        .where(and(isLiveInWorkspace(ctx), isCreatedInRange(customFields, query), after))
        .orderBy(...orderBy)
        .limit(limit),
  })
  return { ...page, data: page.data.map(toCustomField) }
}

/** Updates the label or the options; key and type are immutable. Existing values are kept. */
export async function updateCustomField(ctx: Ctx, id: CustomFieldId, change: CustomFieldChange): Promise<CustomField> {
  return inTransaction(ctx, async (ctx) => {
    const current = await lockCustomField(ctx, id)
    if (change.options && current.type !== 'SELECT')
      throw invalidField('options', 'options: is only allowed for type SELECT')
    if (Object.values(change).every((value) => value === undefined)) return toCustomField(current)
    if (change.options) await requireOptionQuota(ctx, change.options, current.options)
    const saved = { ...current, ...withoutUndefined(change), updatedAt: timeOfUpdate(current.updatedAt) }
    await updateRow(ctx.db, saved)
    return toCustomField(saved)
  })
}

/** Locks a definition until the transaction ends. */
export async function lockCustomField(ctx: Ctx, id: CustomFieldId): Promise<CustomFieldRow> {
  const [row] = await ctx.db.select().from(customFields).where(isLiveCustomField(ctx, id)).for('no key update')
  if (!row) throw notFound('Custom field')
  return row
}

/** Removes a definition immediately. The worker clears its values in the background; until then the key is taken. */
export async function removeCustomField(ctx: Ctx, id: CustomFieldId): Promise<void> {
  await inTransaction(ctx, async (ctx) => {
    const [row] = await ctx.db
      .update(customFields)
      .set({ removedAt: timestampNow() })
      .where(isLiveCustomField(ctx, id))
      .returning({ id: customFields.id })
    if (!row) throw notFound('Custom field')
    await enqueue(ctx, 'CLEAR_CUSTOM_FIELD', id)
    await audit(ctx, 'custom_field.deleted', { subjectId: id })
  })
}

/** Reads all definitions of the workspace. If the request names the fields that it needs, use `findCustomFields`. */
export async function readCustomFields(ctx: Ctx): Promise<CustomFields> {
  const rows = await selectDefinitions(ctx).where(isLiveInWorkspace(ctx))
  return new Map(rows.map((row) => [row.key, row]))
}

/** Reads the definitions of these keys. */
export async function findCustomFields(ctx: Ctx, keys: readonly string[]): Promise<CustomFields> {
  if (keys.length === 0) return new Map()
  const rows = await selectDefinitions(ctx).where(isLiveAmong(ctx, keys))
  return new Map(rows.map((row) => [row.key, row]))
}

/** Reads the keys of all custom fields of the workspace, oldest first. */
export async function readCustomFieldKeys(ctx: Ctx): Promise<string[]> {
  const rows = await ctx.db
    .select({ key: customFields.key })
    .from(customFields)
    .where(isLiveInWorkspace(ctx))
    .orderBy(customFields.createdAt, customFields.id)
  return rows.map(({ key }) => key)
}

/**
 * Locks the definitions of these keys for values written in the same transaction. The job that clears a removed field
 * waits for the lock, so it misses no value; removing the definition does not wait. With `skipLocked`, fields locked by
 * that job are left out.
 */
export async function lockCustomFields(
  ctx: Ctx,
  keys: readonly string[],
  { skipLocked = false }: { skipLocked?: boolean } = {},
): Promise<CustomFields> {
  if (keys.length === 0) return new Map()
  const rows = await selectDefinitions(ctx)
    .where(isLiveAmong(ctx, keys))
    .for('key share', skipLocked ? { skipLocked } : {})
  return new Map(rows.map((row) => [row.key, row]))
}

/** Checks values against their definitions. An unknown key gets the nearest of `suggestions` in its message. */
export function parseCustomValues(
  fields: CustomFields,
  input: Record<string, unknown>,
  suggestions: readonly string[],
): { values: Record<string, CustomValue | null>; issues: Issue[] } {
  const given = Object.entries(input)
  const unknown = given.filter(([key, value]) => value !== null && !fields.has(key)).map(([key]) => key)
  const messages = suggestForEach('unknown custom field', unknown, suggestions)
  const issues = unknown.map((key, index) => ({ path: `customFieldValues.${key}`, message: messages[index] ?? '' }))
  const values: Record<string, CustomValue | null> = {}
  for (const [key, value] of given) {
    if (value === null) values[key] = value
    if (value === null || !fields.has(key)) continue
    const result = checkCustomValue(fields, key, value)
    if ('message' in result) issues.push({ path: `customFieldValues.${key}`, message: result.message })
    else values[key] = result.value
  }
  return { values, issues }
}

/** Returns the value to store, or a validation message. */
export function checkCustomValue(
  fields: CustomFields,
  key: string,
  value: unknown,
): { value: CustomValue } | { message: string } {
  const field = fields.get(key)
  if (!field) return { message: withSuggestion('unknown custom field', key, fields.keys()) }
  const result = valueSchemas[field.type].safeParse(value)
  if (!result.success) return { message: result.error.issues[0]?.message ?? 'is invalid' }
  if (field.type !== 'SELECT') return { value: result.data }
  const option = field.options.find((one) => normalizeText(one) === result.data)
  // A field can have options of 64 KiB, and each of 100 imports on a page has 100 of these messages.
  return option === undefined
    ? { message: truncateText(`must be one of ${field.options.join(', ')}`, 200) }
    : { value: option }
}

/** The size of `customFieldValues` of one contact, as JSON. */
const maxCustomValueBytes = 16_384
const customValuesTooLarge = 'customFieldValues: a contact can have at most 16 KiB of custom field values'

/** Whether the values of one contact are too large. If they are not larger than `current`, they are accepted. */
export function exceedsCustomValueSize(values: CustomValues, current?: CustomValues): boolean {
  return exceedsSize(values, { maxBytes: maxCustomValueBytes, current })
}

/** Throws `validation_error` if the values of one contact are too large. */
export function requireCustomValueSize(values: CustomValues): void {
  if (exceedsCustomValueSize(values)) throw invalidField('customFieldValues', customValuesTooLarge)
}

/** Applies a change to custom values; null removes a key. */
export function mergeCustomValues(
  values: CustomValues,
  change: Record<string, CustomValues[string] | null>,
): CustomValues {
  const merged = Object.entries({ ...values, ...change }).filter(([, value]) => value !== null)
  return Object.fromEntries(merged) as CustomValues
}

/** Converts text from a query or a CSV cell to the type of its field. A text that does not fit stays a text. */
export function parseCustomValue(fields: CustomFields, key: string, text: string): unknown {
  const type = fields.get(key)?.type
  const trimmed = trimInvisible(text)
  if (type === 'NUMBER' && number.test(trimmed) && isExactNumberText(trimmed)) return Number(trimmed)
  if (type === 'BOOLEAN' && /^(true|yes|1)$/i.test(trimmed)) return true
  if (type === 'BOOLEAN' && /^(false|no|0)$/i.test(trimmed)) return false
  return text
}

const valueSchemas = {
  TEXT: MultiLine(2_000),
  NUMBER: z
    .number({ error: ({ input }) => (isInexactText(input) ? inexactNumber : 'must be a number') })
    .refine(Number.isFinite, 'must be a number')
    .refine(isExactNumber, inexactNumber),
  BOOLEAN: z.boolean('must be true or false'),
  DATE: CalendarDateInput,
  SELECT: z.string().overwrite(normalizeText),
}

const number = /^[+-]?\d+(\.\d+)?(e[+-]?\d+)?$/i
const isInexactText = (input: unknown) =>
  typeof input === 'string' && number.test(input.trim()) && !isExactNumberText(input)

function selectDefinitions(ctx: Ctx) {
  return ctx.db
    .select({
      key: customFields.key,
      label: customFields.label,
      type: customFields.type,
      options: customFields.options,
    })
    .from(customFields)
}

function isLiveCustomField(ctx: Ctx, id: CustomFieldId) {
  return and(byId(customFields, ctx, id), isNull(customFields.removedAt))
}

function isLiveInWorkspace(ctx: Ctx) {
  return and(eq(customFields.workspaceId, ctx.workspaceId), isNull(customFields.removedAt))
}

/** Other texts are keys of no field, and PostgreSQL refuses some of them. */
function isLiveAmong(ctx: Ctx, keys: readonly string[]) {
  const possible = keys.filter((key) => customFieldKey.test(key))
  return and(isLiveInWorkspace(ctx), inArray(customFields.key, possible))
}

function toCustomField(row: CustomFieldRow): CustomField {
  return {
    id: row.id,
    key: row.key,
    label: row.label,
    type: row.type,
    options: row.options,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  }
}

const updateRow = updateStatement(customFields)
