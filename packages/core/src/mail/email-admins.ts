import { and, eq, inArray } from 'drizzle-orm'
import { type MailData, members, users } from '../db/schema/index.ts'
import type { Ctx } from '../request/context.ts'
import { enqueueMail, type MailKind } from './mails.ts'

/** Enqueues a notice to the owners and admins of the workspace. */
export async function emailAdmins(ctx: Ctx, kind: MailKind, data: MailData): Promise<void> {
  const admins = await ctx.db
    .select({ email: users.email })
    .from(members)
    .innerJoin(users, eq(users.id, members.userId))
    .where(and(eq(members.workspaceId, ctx.workspaceId), inArray(members.role, ['OWNER', 'ADMIN'])))
  for (const { email } of admins) await enqueueMail(ctx, { kind, to: email, data })
}
