/** The erasures that are still to be done: one row for each deleted contact, which the worker deletes at the end. */
import { and, eq } from 'drizzle-orm'
import { erasures } from '../db/schema/index.ts'
import { enqueue, finishWork } from '../work/enqueue.ts'
import { type ContactId, uuidOf } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'

export type Erasure = typeof erasures.$inferSelect

/** Starts the erasure of a locked contact, in the transaction of its deletion. */
export async function startErasure(ctx: Ctx, id: ContactId, mergedIds: ContactId[]): Promise<void> {
  await ctx.db.insert(erasures).values({ workspaceId: ctx.workspaceId, contactId: id, mergedIds })
  await enqueue(ctx, 'ERASE_CONTACT', id)
}

/** Locks an erasure, so that concurrent jobs take turns. Returns undefined if it is done. */
export async function lockErasure(ctx: Ctx, id: ContactId): Promise<Erasure | undefined> {
  const [row] = await ctx.db.select().from(erasures).where(isErasureOf(ctx, id)).for('update')
  return row
}

/** Stores the progress of a locked erasure. */
export async function saveErasure(ctx: Ctx, id: ContactId, progress: Pick<Erasure, 'step' | 'after'>): Promise<void> {
  await ctx.db.update(erasures).set(progress).where(isErasureOf(ctx, id))
}

/** Deletes a locked erasure that is done, with its job. */
export async function finishErasure(ctx: Ctx, id: ContactId): Promise<void> {
  await ctx.db.delete(erasures).where(isErasureOf(ctx, id))
  await finishWork(ctx, [uuidOf(id)])
}

function isErasureOf(ctx: Ctx, id: ContactId) {
  return and(eq(erasures.workspaceId, ctx.workspaceId), eq(erasures.contactId, id))
}
