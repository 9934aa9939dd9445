import { inAccountTransaction } from '../auth/account-transaction.ts'
import { audit } from '../audit/audit.ts'
import { createWorkspace } from '../workspaces/workspaces.ts'
import type { BaseCtx, Ctx } from '../request/context.ts'
import { createInvite } from './invites.ts'
import type { CreateWorkspaceInput, Invite } from './team.schema.ts'
import type { Workspace } from '../workspaces/workspaces.schema.ts'

/**
 * Creates a workspace for an operator and emails an invite to its future OWNER. Only the owner of the email address can
 * accept the invite, with a new or an existing account.
 */
export function createWorkspaceAndInviteOwner(
  base: BaseCtx,
  { name, ownerEmail }: CreateWorkspaceInput,
): Promise<{ workspace: Workspace; invite: Invite }> {
  return inAccountTransaction(base, async (base) => {
    const workspace = await createWorkspace(base.db, name)
    const ctx: Ctx = { ...base, workspaceId: workspace.id, actor: { kind: 'system' } }
    await audit(ctx, 'workspace.created', { subjectId: workspace.id, name, ownerEmail })
    return { workspace, invite: await createInvite(ctx, { email: ownerEmail, role: 'OWNER' }) }
  })
}
