import { and, eq, inArray, isNotNull, type SQL, sql } from 'drizzle-orm'
import type { AnyPgColumn, AnyPgTable } from 'drizzle-orm/pg-core'
import { type Ctx, inTransaction } from '../request/context.ts'
import { type CustomFieldId, uuidOf } from '../kernel/ids.ts'
import { finishWork } from '../work/enqueue.ts'
import { companies, contacts, type CustomFieldObject, customFields, deals } from '../db/schema/index.ts'

type TableWithValues = AnyPgTable & Record<'workspaceId' | 'id' | 'customFieldValues', AnyPgColumn>

const tables: Record<CustomFieldObject, TableWithValues> = { CONTACT: contacts, COMPANY: companies, DEAL: deals }
/** The contacts whose locks guard the records. */
const contactIds: Partial<Record<CustomFieldObject, AnyPgColumn>> = { CONTACT: contacts.id, DEAL: deals.contactId }

const batchSize = 1_000

/**
 * Removes the values of a deleted field from the next batch of records, in the order of their ids. After the last batch,
 * deletes the definition, whose key is then free. Returns whether to continue.
 */
export async function clearNextBatch(ctx: Ctx, id: CustomFieldId): Promise<boolean> {
  return await inTransaction(ctx, async (ctx) => {
    const { db } = ctx
    const field = await lockRemovedField(ctx, id)
    if (!field) return false
    const table = tables[field.object]
    const isLater = field.clearedTo === null ? undefined : sql`${table.id} > ${field.clearedTo}::uuid`
    const next = and(eq(table.workspaceId, ctx.workspaceId), isLater)
    const step = db.select({ id: table.id }).from(table).where(next).orderBy(table.id).limit(batchSize).as('step')
    const [last] = await db.select({ id: sql<string | null>`max(${step.id}::text)` }).from(step)
    if (!last || last.id === null) return await finishRemoval(ctx, id, { ...field, table })
    const batch = and(next, sql`${table.id} <= ${last.id}::uuid`, hasValue(table, field.key))
    await lockContactsOf(ctx, { contactId: contactIds[field.object], table, batch })
    const locked = db.select({ id: table.id }).from(table).where(batch).orderBy(table.id).for('no key update')
    await db.execute(sql`
      with locked as (${locked})
      update ${table} c set custom_field_values = c.custom_field_values - ${field.key}::text
      from locked where c.workspace_id = ${uuidOf(ctx.workspaceId)}::uuid and c.id = locked.id`)
    await db.update(customFields).set({ clearedTo: last.id }).where(isRemoved(ctx, id))
    return true
  })
}

interface Guarded {
  contactId: AnyPgColumn | undefined
  table: TableWithValues
  batch: SQL | undefined
}

/** The lock order of all writers, which prevents deadlocks: contacts before their records, both in the order of their ids. */
async function lockContactsOf(ctx: Ctx, { contactId, table, batch }: Guarded): Promise<void> {
  if (!contactId) return
  const ids = ctx.db.select({ id: contactId }).from(table).where(batch)
  await ctx.db
    .select({ id: contacts.id })
    .from(contacts)
    .where(and(eq(contacts.workspaceId, ctx.workspaceId), inArray(contacts.id, ids)))
    .orderBy(contacts.id)
    .for('no key update')
}

/** Starts again with the first batch if a value is left, because a merge gave it to another contact in the meantime. */
async function finishRemoval(
  ctx: Ctx,
  id: CustomFieldId,
  { table, key }: { table: TableWithValues; key: string },
): Promise<boolean> {
  const { db } = ctx
  const isLeft = and(eq(table.workspaceId, ctx.workspaceId), hasValue(table, key))
  const left = await db.select({ id: table.id }).from(table).where(isLeft).limit(1)
  if (left.length > 0) {
    await db.update(customFields).set({ clearedTo: null }).where(isRemoved(ctx, id))
    return true
  }
  await db.delete(customFields).where(isRemoved(ctx, id))
  await finishWork(ctx, [uuidOf(id)])
  return false
}

const hasValue = (table: TableWithValues, key: string): SQL => sql`${table.customFieldValues} ? ${key}`

/**
 * Locks a removed definition. Waits for transactions that checked values before the removal, so that they are written.
 */
async function lockRemovedField(
  ctx: Ctx,
  id: CustomFieldId,
): Promise<{ object: CustomFieldObject; key: string; clearedTo: string | null } | undefined> {
  const { object, key, clearedTo } = customFields
  const [field] = await ctx.db
    .select({ object, key, clearedTo })
    .from(customFields)
    .where(isRemoved(ctx, id))
    .for('update')
  return field
}

function isRemoved(ctx: Ctx, id: CustomFieldId) {
  return and(eq(customFields.workspaceId, ctx.workspaceId), eq(customFields.id, id), isNotNull(customFields.removedAt))
}
