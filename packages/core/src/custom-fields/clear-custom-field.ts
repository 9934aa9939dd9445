import { and, eq, isNotNull, sql } from 'drizzle-orm'
import { type Ctx, inTransaction } from '../request/context.ts'
import { type CustomFieldId, uuidOf } from '../kernel/ids.ts'
import { finishWork } from '../work/enqueue.ts'
import { contacts, customFields } from '../db/schema/index.ts'

const batchSize = 1_000

/**
 * Removes the values of a deleted field from the next batch of contacts, in order of email. Returns the last email of
 * the batch, or undefined if no contact is left. A restart from '' finds all remaining values.
 */
export async function clearNextBatch(ctx: Ctx, id: CustomFieldId, after: string): Promise<string | undefined> {
  const email = sql<string>`lower(${contacts.email} collate "C")`
  return inTransaction(ctx, async (ctx) => {
    const { db } = ctx
    const field = await lockRemovedField(ctx, id)
    if (!field) return undefined
    const next = and(eq(contacts.workspaceId, ctx.workspaceId), sql`${email} > ${after}`)
    const step = db
      .select({ email: email.as('email') })
      .from(contacts)
      .where(next)
      .orderBy(email)
      .limit(batchSize)
    const [last] = await db.select({ email: sql<string | null>`max(email)` }).from(step.as('step'))
    if (!last || last.email === null) return undefined
    // The lock order of all writers; it prevents deadlocks.
    const locked = db
      .select({ id: contacts.id })
      .from(contacts)
      .where(and(next, sql`${email} <= ${last.email}`, sql`${contacts.customFieldValues} ? ${field.key}`))
      .orderBy(contacts.id)
      .for('no key update')
    await db.execute(sql`
      with locked as (${locked})
      update contacts c set custom_field_values = c.custom_field_values - ${field.key}::text
      from locked where c.workspace_id = ${uuidOf(ctx.workspaceId)}::uuid and c.id = locked.id`)
    return last.email
  })
}

/**
 * Deletes the definition when no value is left; its key is then free. Returns false if a value remains, because its
 * contact was merged or got another email in the meantime: restart from the first batch.
 */
export function finishRemoval(ctx: Ctx, id: CustomFieldId): Promise<boolean> {
  return inTransaction(ctx, async (ctx) => {
    const { db } = ctx
    const field = await lockRemovedField(ctx, id)
    if (!field) return true
    const hasValue = and(eq(contacts.workspaceId, ctx.workspaceId), sql`${contacts.customFieldValues} ? ${field.key}`)
    const left = await db.select({ id: contacts.id }).from(contacts).where(hasValue).limit(1)
    if (left.length > 0) return false
    await db.delete(customFields).where(isRemoved(ctx, id))
    await finishWork(ctx, [uuidOf(id)])
    return true
  })
}

/**
 * Locks a removed definition. Waits for transactions that checked values before the removal, so that they are written.
 */
async function lockRemovedField(ctx: Ctx, id: CustomFieldId): Promise<{ key: string } | undefined> {
  const [field] = await ctx.db
    .select({ key: customFields.key })
    .from(customFields)
    .where(isRemoved(ctx, id))
    .for('update')
  return field
}

function isRemoved(ctx: Ctx, id: CustomFieldId) {
  return and(eq(customFields.workspaceId, ctx.workspaceId), eq(customFields.id, id), isNotNull(customFields.removedAt))
}
