import { and, eq, inArray, isNull } from 'drizzle-orm'
import { z } from 'zod'
import { audit } from '../audit/audit.ts'
import { byId } from '../request/by-id.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { onConstraint } from '../db/database-errors.ts'
import { conflict, invalidField, notFound, truncateText } from '../kernel/errors.ts'
import { withSuggestion } from '../kernel/suggestion.ts'
import { timeOfUpdate, timestampNow } from '../kernel/values/timestamps.ts'
import { inexactNumber, isExactNumber, isExactNumberText } from '../kernel/values/exact-number.ts'
import { trimInvisible } from '../kernel/values/text.ts'
import { CalendarDateInput, MultiLine, normalizeText } from '../kernel/validation.ts'
import { withoutUndefined } from '../kernel/without-undefined.ts'
import { type CustomFieldId, newId } from '../kernel/ids.ts'
import { enqueue } from '../work/enqueue.ts'
import { lockQuotas, requireQuota } from '../quotas/require-quota.ts'
import { requireOptionQuota } from './option-quota.ts'
import { byCreation, type Page, readPage } from '../request/paging.ts'
import { isCreatedInRange } from '../request/time-range.ts'
import { type CustomFieldObject, customFields } from '../db/schema/index.ts'
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
/** The definitions of an object in a workspace, by key. */
export type CustomFields = ReadonlyMap<string, Pick<CustomFieldRow, 'label' | 'type' | 'options'>>

/** Some fields of an object. */
export interface NamedFields {
  object: CustomFieldObject
  keys: readonly string[]
}

/**
 * Creates a custom field. Throws `already_exists` if the key is taken or its former field is still being removed, and
 * `quota_exceeded` if the workspace has the maximum number of fields or of bytes of options.
 */
export async function createCustomField(
  ctx: Ctx,
  { object = 'CONTACT', ...input }: Omit<CustomFieldInput, 'object'> & Partial<CustomFieldInput>,
): Promise<CustomField> {
  const now = timestampNow()
  const customField: CustomFieldRow = {
    workspaceId: ctx.workspaceId,
    id: newId('cfd'),
    object,
    key: input.key,
    label: input.label,
    type: input.type,
    options: input.options,
    removedAt: null,
    clearedTo: null,
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
        .where(and(isLiveInWorkspace(ctx, query.object), isCreatedInRange(customFields, query), after))
        .orderBy(...orderBy)
        .limit(limit),
  })
  return { ...page, data: page.data.map(toCustomField) }
}

/** Updates the label or the options; object, key and type are immutable. Existing values are kept. */
export async function updateCustomField(ctx: Ctx, id: CustomFieldId, change: CustomFieldChange): Promise<CustomField> {
  return inTransaction(ctx, async (ctx) => {
    // Before the field, as the creation of a webhook locks both: its filter may name the field.
    if (change.options) await lockQuotas(ctx)
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

/** Reads all definitions of an object. If the request names the fields that it needs, use `findCustomFields`. */
export async function readCustomFields(ctx: Ctx, object: CustomFieldObject): Promise<CustomFields> {
  const rows = await selectDefinitions(ctx).where(isLiveInWorkspace(ctx, object))
  return new Map(rows.map((row) => [row.key, row]))
}

/** Reads the definitions of these keys. */
export async function findCustomFields(ctx: Ctx, named: NamedFields): Promise<CustomFields> {
  if (named.keys.length === 0) return new Map()
  const rows = await selectDefinitions(ctx).where(isLiveAmong(ctx, named))
  return new Map(rows.map((row) => [row.key, row]))
}

/** Reads the keys of all custom fields of an object, oldest first. */
export async function readCustomFieldKeys(ctx: Ctx, object: CustomFieldObject): Promise<string[]> {
  const rows = await ctx.db
    .select({ key: customFields.key })
    .from(customFields)
    .where(isLiveInWorkspace(ctx, object))
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
  named: NamedFields,
  { skipLocked = false }: { skipLocked?: boolean } = {},
): Promise<CustomFields> {
  if (named.keys.length === 0) return new Map()
  const rows = await selectDefinitions(ctx)
    .where(isLiveAmong(ctx, named))
    .for('key share', skipLocked ? { skipLocked } : {})
  return new Map(rows.map((row) => [row.key, row]))
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

function isLiveInWorkspace(ctx: Ctx, object?: CustomFieldObject) {
  const ofObject = object && eq(customFields.object, object)
  return and(eq(customFields.workspaceId, ctx.workspaceId), ofObject, isNull(customFields.removedAt))
}

/** Other texts are keys of no field, and PostgreSQL refuses some of them. */
function isLiveAmong(ctx: Ctx, { object, keys }: NamedFields) {
  const possible = keys.filter((key) => customFieldKey.test(key))
  return and(isLiveInWorkspace(ctx, object), inArray(customFields.key, possible))
}

function toCustomField(row: CustomFieldRow): CustomField {
  return {
    id: row.id,
    object: row.object,
    key: row.key,
    label: row.label,
    type: row.type,
    options: row.options,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  }
}

const updateRow = updateStatement(customFields)
