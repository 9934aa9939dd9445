import { audit } from '../audit/audit.ts'
import { createWorkspace } from '../workspaces/workspaces.ts'
import { type BaseCtx, type Ctx, inTransaction } from '../request/context.ts'
import { createInvite } from './invites.ts'
import type { CreateWorkspaceInput, Invite } from './team.schema.ts'
import type { Workspace } from '../workspaces/workspaces.schema.ts'

/**
 * For who runs the installation: a new workspace, and a mail to its OWNER to be, who comes in by the link in it, with
 * an account of theirs or a new one. Nobody but the holder of the address ever gets in as the OWNER.
 */
export function createWorkspaceAndInviteOwner(
  base: BaseCtx,
  { name, ownerEmail }: CreateWorkspaceInput,
): Promise<{ workspace: Workspace; invite: Invite }> {
  return inTransaction(base, async (base) => {
    const workspace = await createWorkspace(base.db, name)
    const ctx: Ctx = { ...base, workspaceId: workspace.id, actor: { kind: 'system' } }
    await audit(ctx, 'workspace.created', { subjectId: workspace.id, name, ownerEmail })
    return { workspace, invite: await createInvite(ctx, { email: ownerEmail, role: 'OWNER' }) }
  })
}
