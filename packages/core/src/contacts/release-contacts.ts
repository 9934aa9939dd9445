import { and, eq, inArray } from 'drizzle-orm'
import { timeAtLeast } from '../db/schema/columns.ts'
import { contacts } from '../db/schema/index.ts'
import { type CompanyId, uuidOf } from '../kernel/ids.ts'
import { timestampNow } from '../kernel/values/timestamps.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { finishWork } from '../work/enqueue.ts'
import { lockContacts } from './lock-contact.ts'

const batchSize = 500

/**
 * Clears the company of the next contacts of a deleted company. Returns whether there may be more. Each batch is a
 * transaction, so that no contact is locked for long.
 */
export function releaseNextContacts(ctx: Ctx, id: CompanyId): Promise<boolean> {
  const ofCompany = and(eq(contacts.workspaceId, ctx.workspaceId), eq(contacts.companyId, id))
  return inTransaction(ctx, async (ctx) => {
    const next = await ctx.db.select({ id: contacts.id }).from(contacts).where(ofCompany).limit(batchSize)
    const ids = next.map((contact) => contact.id)
    if (ids.length === 0) {
      await finishWork(ctx, [uuidOf(id)])
      return false
    }
    await lockContacts(ctx, ids)
    await ctx.db
      .update(contacts)
      .set({ companyId: null, updatedAt: timeAtLeast(contacts.updatedAt, timestampNow()) })
      .where(and(ofCompany, inArray(contacts.id, ids)))
    return true
  })
}
