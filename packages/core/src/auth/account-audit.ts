/** Entries about an account, in the audit log of each of its workspaces. */
import { eq } from 'drizzle-orm'
import { auditEach } from '../audit/audit.ts'
import type { AuditAction } from '../audit/audit.schema.ts'
import { members } from '../db/schema/index.ts'
import { transaction } from '../db/transaction.ts'
import type { UserId } from '../kernel/ids.ts'
import { type BaseCtx, type Ctx, publicContext } from '../request/context.ts'
import { noUserId } from './users.ts'

/** Records what a visitor without a credential did to the account of a user. */
export async function auditVisitorOfAccount(
  base: BaseCtx,
  action: AuditAction,
  { userId, ...details }: { userId: UserId; waitSeconds?: number },
): Promise<void> {
  const memberships = await findMemberships(base, userId)
  const contexts = memberships.map(({ workspaceId }) => publicContext(base, workspaceId))
  await auditEach(contexts, action, { subjectId: userId, ...details })
}

/** Records what the operator did to the account of a user. */
export async function auditOperatorOfAccount(base: BaseCtx, action: AuditAction, userId: UserId): Promise<void> {
  const memberships = await findMemberships(base, userId)
  const contexts = memberships.map(({ workspaceId }): Ctx => ({ ...base, workspaceId, actor: { kind: 'system' } }))
  await auditEach(contexts, action, { subjectId: userId })
}

/** Records what a user, whose identity is proved, did to their account. */
export async function auditAccount(base: BaseCtx, action: AuditAction, userId: UserId): Promise<void> {
  const memberships = await findMemberships(base, userId)
  const contexts = memberships.map(
    ({ workspaceId, role }): Ctx => ({ ...base, workspaceId, actor: { kind: 'user', userId, role } }),
  )
  await auditEach(contexts, action, { subjectId: userId })
}

/**
 * Records a wrong password, and whether further attempts must wait because of it. Attempts during the wait are not
 * recorded, so that the throttle also bounds the entries. Without a user, the same transaction runs and writes nothing.
 * The commit does not wait for the disk, so that the time does not reveal whether there is a user.
 */
export async function auditFailedLogin(
  base: BaseCtx,
  { userId = noUserId, waitSeconds }: { userId: UserId | undefined; waitSeconds: number },
): Promise<void> {
  const action = waitSeconds > 0 ? 'login.locked_out' : 'login.failed'
  const details = { userId, ...(waitSeconds > 0 && { waitSeconds }) }
  const work = (db: BaseCtx['db']) => auditVisitorOfAccount({ ...base, db }, action, details)
  await transaction(base.db, work, { synchronous_commit: 'off' })
}

function findMemberships({ db }: BaseCtx, userId: UserId) {
  return db
    .select({ workspaceId: members.workspaceId, role: members.role })
    .from(members)
    .where(eq(members.userId, userId))
    .orderBy(members.workspaceId)
}
