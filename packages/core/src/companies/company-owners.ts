/** The members who own companies. A writer locks them before the company, as the removal of a member does. */
import { and, eq, inArray, isNotNull } from 'drizzle-orm'
import { timeAtLeast } from '../db/schema/columns.ts'
import { companies, members } from '../db/schema/index.ts'
import { changeWithEvents } from '../events/change-with-events.ts'
import { updatesFrom } from '../events/changes.ts'
import { emitUpdates } from '../events/emit.ts'
import type { UserId } from '../kernel/ids.ts'
import { timestampNow } from '../kernel/validation.ts'
import { isAmongFirst } from '../request/by-id.ts'
import type { Ctx } from '../request/context.ts'
import { companyUpdated } from './company-events.ts'
import { companyColumns, toCompany } from './company-record.ts'

/** Locks the owners that inputs name until the transaction ends. Returns those who are members of the workspace. */
export async function lockOwners(
  ctx: Ctx,
  inputs: readonly { ownerId?: UserId | null | undefined }[],
): Promise<ReadonlySet<UserId>> {
  const ids = inputs.flatMap(({ ownerId }) => ownerId ?? [])
  if (ids.length === 0) return new Set()
  const rows = await ctx.db
    .select({ id: members.userId })
    .from(members)
    .where(and(eq(members.workspaceId, ctx.workspaceId), inArray(members.userId, ids)))
    .orderBy(members.userId)
    .for('key share')
  return new Set(rows.map(({ id }) => id))
}

/**
 * Clears the owner of a member's companies, and emits `company.updated` for each. Call it in the transaction that deletes
 * the member, with the member locked.
 */
export async function clearCompanyOwners(ctx: Ctx, userId: UserId): Promise<void> {
  const change = { ownerId: null, updatedAt: timeAtLeast(companies.updatedAt, timestampNow()) }
  await changeWithEvents({
    changeBatch: (limit) =>
      ctx.db
        .update(companies)
        .set(change)
        .where(isAmongFirst(companies, ctx, { where: eq(companies.ownerId, userId), limit }))
        .returning(companyColumns),
    emit: async (rows) => await emitUpdates(ctx, companyUpdated, updatesFrom(rows.map(toCompany), { ownerId: userId })),
  })
}

/** Clears the owners of all companies, without events: see `clearAllDealOwners`. */
export async function clearAllCompanyOwners(ctx: Ctx): Promise<void> {
  await ctx.db
    .update(companies)
    .set({ ownerId: null })
    .where(and(eq(companies.workspaceId, ctx.workspaceId), isNotNull(companies.ownerId)))
}
