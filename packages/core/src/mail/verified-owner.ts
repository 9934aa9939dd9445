import { and, eq, isNotNull, or, type SQL, sql } from 'drizzle-orm'
import { members, users } from '../db/schema/index.ts'
import { AppError } from '../kernel/errors.ts'
import type { Ctx } from '../request/context.ts'

/**
 * With `REQUIRE_VERIFIED_EMAIL`, a workspace sends mail to others than its members only after an OWNER has verified an
 * address.
 */
export async function canMail(ctx: Ctx, to?: string): Promise<boolean> {
  if (!ctx.settings.requiresVerifiedEmail) return true
  const isVerifiedOwner = and(eq(members.role, 'OWNER'), isNotNull(users.emailVerifiedAt))
  const isAddressee: SQL | undefined =
    to === undefined ? undefined : sql`lower(${users.email} collate "C") = lower(${to} collate "C")`
  const [found] = await ctx.db
    .select({ id: users.id })
    .from(members)
    .innerJoin(users, eq(users.id, members.userId))
    .where(and(eq(members.workspaceId, ctx.workspaceId), or(isVerifiedOwner, isAddressee)))
    .limit(1)
  return found !== undefined
}

/** Throws `forbidden` if the workspace may not send mail to the address, or to any other than its members, yet. */
export async function requireVerifiedOwner(ctx: Ctx, to?: string): Promise<void> {
  // The operator invites the first OWNER.
  if (ctx.actor.kind === 'system' || (await canMail(ctx, to))) return
  throw new AppError(
    'forbidden',
    'An owner of this workspace must verify their email address before it can send email: see POST /auth/resend-verification',
  )
}
