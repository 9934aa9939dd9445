import { and, eq } from 'drizzle-orm'
import { inAccountTransaction } from '../auth/account-transaction.ts'
import { audit } from '../audit/audit.ts'
import { lockName } from '../db/statements/advisory-locks.ts'
import { auditEntries, invites, workspaces } from '../db/schema/index.ts'
import { AppError, conflict } from '../kernel/errors.ts'
import { createWorkspace, toWorkspace } from '../workspaces/workspaces.ts'
import type { BaseCtx, Ctx } from '../request/context.ts'
import { createInvite, toInvite } from './invites.ts'
import type { CreateWorkspaceInput, Invite } from './team.schema.ts'
import type { Workspace } from '../workspaces/workspaces.schema.ts'

export interface CreatedWorkspace {
  workspace: Workspace
  /** Null if the workspace was created before with the same key, and its owner has accepted the invite. */
  invite: Invite | null
  /** Whether a former call with the same key had created it. */
  isRepeated: boolean
}

/**
 * Creates a workspace for an operator and emails an invite to its future OWNER. Only the owner of the email address can
 * accept the invite, with a new or an existing account. With the `idempotencyKey` of a former call, returns the workspace
 * of that call as it is now. Throws `idempotency_conflict` if that call had another name or owner, and `wrong_state` if the
 * workspace was deleted meanwhile.
 */
export function createWorkspaceAndInviteOwner(
  base: BaseCtx,
  { idempotencyKey, ...input }: CreateWorkspaceInput,
): Promise<CreatedWorkspace> {
  return inAccountTransaction(base, async (base) => {
    const known = idempotencyKey === undefined ? undefined : await findCreated(base, idempotencyKey, input)
    if (known) return known
    const { name, ownerEmail } = input
    const workspace = await createWorkspace(base.db, name, idempotencyKey)
    const ctx: Ctx = { ...base, workspaceId: workspace.id, actor: { kind: 'system' } }
    await audit(ctx, 'workspace.created', { subjectId: workspace.id, name, ownerEmail })
    return { workspace, invite: await createInvite(ctx, { email: ownerEmail, role: 'OWNER' }), isRepeated: false }
  })
}

/** A concurrent call with the same key waits until this transaction ends. */
async function findCreated(
  { db }: BaseCtx,
  key: string,
  { name, ownerEmail }: CreateWorkspaceInput,
): Promise<CreatedWorkspace | undefined> {
  await lockName(db, `workspace of ${key}`)
  const [row] = await db.select().from(workspaces).where(eq(workspaces.creationKey, key))
  if (!row) return undefined
  if (row.deletedAt) throw conflict('wrong_state', 'The workspace of this key was deleted: use another key')
  const isCreation = and(eq(auditEntries.workspaceId, row.id), eq(auditEntries.action, 'workspace.created'))
  const [created] = await db.select({ details: auditEntries.details }).from(auditEntries).where(isCreation)
  // The name may have changed since, so the call itself is compared; after a year it is no longer known.
  if (created && (created.details['name'] !== name || created.details['ownerEmail'] !== ownerEmail))
    throw new AppError('idempotency_conflict', 'This key was used for a workspace with another name or owner')
  const isOfOwner = and(eq(invites.workspaceId, row.id), eq(invites.email, ownerEmail), eq(invites.role, 'OWNER'))
  const [invite] = await db.select().from(invites).where(isOfOwner)
  return { workspace: toWorkspace(row), invite: invite ? toInvite(invite) : null, isRepeated: true }
}
