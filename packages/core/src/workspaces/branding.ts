import { and, eq, isNull } from 'drizzle-orm'
import { workspaces } from '../db/schema/index.ts'
import type { WorkspaceId } from '../kernel/ids.ts'
import type { BaseCtx } from '../request/context.ts'

/** How a workspace appears on the pages that visitors see. */
export interface Branding {
  name: string
  logoUrl: string | null
  /** `#rrggbb`, with enough contrast with white for text. */
  accentColor: string | null
}

/** The columns of a `Branding`, for statements that join the workspace. */
export const brandingColumns = {
  name: workspaces.name,
  logoUrl: workspaces.logoUrl,
  accentColor: workspaces.accentColor,
}

/** Returns undefined if the workspace was deleted. */
export async function findBranding(base: BaseCtx, id: WorkspaceId): Promise<Branding | undefined> {
  const [branding] = await base.db
    .select(brandingColumns)
    .from(workspaces)
    .where(and(eq(workspaces.id, id), isNull(workspaces.deletedAt)))
  return branding
}
