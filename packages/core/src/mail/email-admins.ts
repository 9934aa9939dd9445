import { and, eq, inArray } from 'drizzle-orm'
import { type MailData, members, type Role, users } from '../db/schema/index.ts'
import type { Ctx } from '../request/context.ts'
import { enqueueMail, type MailKind } from './mails.ts'

/** Enqueues a notice to the owners and admins of the workspace. */
export async function emailAdmins(ctx: Ctx, kind: MailKind, data: MailData): Promise<void> {
  for (const to of await readEmailsOf(ctx, ['OWNER', 'ADMIN'])) await enqueueMail(ctx, { kind, to, data })
}

/** The email addresses of the members with one of the roles. */
export async function readEmailsOf(ctx: Ctx, roles: Role[]): Promise<string[]> {
  const found = await ctx.db
    .select({ email: users.email })
    .from(members)
    .innerJoin(users, eq(users.id, members.userId))
    .where(and(eq(members.workspaceId, ctx.workspaceId), inArray(members.role, roles)))
  return found.map(({ email }) => email)
}
