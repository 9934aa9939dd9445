/** The erasures that are still to be done: one row for each deleted contact, which the worker deletes at the end. */
import { and, eq } from 'drizzle-orm'
import { z } from 'zod'
import { erasures } from '../db/schema/index.ts'
import { enqueue, finishWork } from '../work/enqueue.ts'
import { seal, unseal } from '../kernel/crypto.ts'
import { type ContactId, Id, uuidOf } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import { listFormerIds } from './contact-aliases.ts'

/** The contact, and how far the erasure is. */
const Erasure = z.object({
  /** The deleted contact, and the contacts that were merged into it. */
  contactIds: z.array(Id('con')),
  /** The name of the step; null: the first one. */
  step: z.string().nullable(),
  /** The position in the step. */
  after: z.string(),
})
export type Erasure = z.output<typeof Erasure>

/** Starts the erasure of a locked contact, in the transaction of its deletion. Call it before its aliases are deleted. */
export async function startErasure(ctx: Ctx, id: ContactId): Promise<void> {
  const { data: mergedIds } = await listFormerIds(ctx, id)
  const encryptedIdentity = encrypt(ctx, id, { contactIds: [id, ...mergedIds], step: null, after: '' })
  await ctx.db.insert(erasures).values({ workspaceId: ctx.workspaceId, contactId: id, encryptedIdentity })
  await enqueue(ctx, 'ERASE_CONTACT', id)
}

/** Locks an erasure, so that concurrent jobs take turns. Returns undefined if it is done. */
export async function lockErasure(ctx: Ctx, id: ContactId): Promise<Erasure | undefined> {
  const [row] = await ctx.db.select().from(erasures).where(isErasureOf(ctx, id)).for('update')
  if (!row) return undefined
  const identity = unseal(ctx.settings.keys, row.encryptedIdentity, bindingOf(ctx, id))
  return Erasure.parse(JSON.parse(identity))
}

/** Stores the progress of a locked erasure. */
export async function saveErasure(ctx: Ctx, id: ContactId, erasure: Erasure): Promise<void> {
  await ctx.db
    .update(erasures)
    .set({ encryptedIdentity: encrypt(ctx, id, erasure) })
    .where(isErasureOf(ctx, id))
}

/** Deletes a locked erasure that is done, with its job. */
export async function finishErasure(ctx: Ctx, id: ContactId): Promise<void> {
  await ctx.db.delete(erasures).where(isErasureOf(ctx, id))
  await finishWork(ctx, [uuidOf(id)])
}

const encrypt = (ctx: Ctx, id: ContactId, erasure: Erasure) =>
  seal(ctx.settings.keys, JSON.stringify(erasure), bindingOf(ctx, id))
const bindingOf = (ctx: Ctx, id: ContactId) => `erasure ${ctx.workspaceId} ${id}`

function isErasureOf(ctx: Ctx, id: ContactId) {
  return and(eq(erasures.workspaceId, ctx.workspaceId), eq(erasures.contactId, id))
}
