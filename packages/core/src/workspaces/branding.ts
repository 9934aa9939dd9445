import { and, eq, isNull } from 'drizzle-orm'
import { members, workspaces } from '../db/schema/index.ts'
import type { UserId, WorkspaceId } from '../kernel/ids.ts'
import type { BaseCtx } from '../request/context.ts'

/** How a workspace appears on the pages that visitors see. */
export interface Branding {
  name: string
  logoUrl: string | null
  /** `#rrggbb`, with enough contrast with white for text. */
  accentColor: string | null
  locale: string | null
}

/** The columns of a `Branding`, for statements that join the workspace. */
export const brandingColumns = {
  name: workspaces.name,
  logoUrl: workspaces.logoUrl,
  accentColor: workspaces.accentColor,
  locale: workspaces.locale,
}

/** Returns undefined if the workspace was deleted. */
export async function findBranding(base: BaseCtx, id: WorkspaceId): Promise<Branding | undefined> {
  const [branding] = await base.db
    .select(brandingColumns)
    .from(workspaces)
    .where(and(eq(workspaces.id, id), isNull(workspaces.deletedAt)))
  return branding
}

/** Returns the workspace of a user; undefined if the user is in several, because it is unknown which one is meant. */
export async function findBrandingOfUser(base: BaseCtx, userId: UserId): Promise<Branding | undefined> {
  const [branding, ...others] = await base.db
    .select(brandingColumns)
    .from(members)
    .innerJoin(workspaces, eq(workspaces.id, members.workspaceId))
    .where(and(eq(members.userId, userId), isNull(workspaces.deletedAt)))
    .limit(2)
  return others.length === 0 ? branding : undefined
}
