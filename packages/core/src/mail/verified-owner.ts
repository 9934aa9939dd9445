import { and, eq, isNotNull } from 'drizzle-orm'
import { members, users } from '../db/schema/index.ts'
import { AppError } from '../kernel/errors.ts'
import type { Ctx } from '../request/context.ts'

/** With `REQUIRE_VERIFIED_EMAIL`, a workspace sends mail to strangers only after an OWNER has verified an address. */
export async function canMailStrangers(ctx: Ctx): Promise<boolean> {
  // The operator invites the first OWNER.
  if (!ctx.settings.requiresVerifiedEmail || ctx.actor.kind === 'system') return true
  const [owner] = await ctx.db
    .select({ id: users.id })
    .from(members)
    .innerJoin(users, eq(users.id, members.userId))
    .where(and(eq(members.workspaceId, ctx.workspaceId), eq(members.role, 'OWNER'), isNotNull(users.emailVerifiedAt)))
    .limit(1)
  return owner !== undefined
}

/** Throws `forbidden` if the workspace may not send mail to strangers yet. */
export async function requireVerifiedOwner(ctx: Ctx): Promise<void> {
  if (await canMailStrangers(ctx)) return
  throw new AppError(
    'forbidden',
    'An owner of this workspace must verify their email address before it can send email: see POST /auth/resend-verification',
  )
}
