import { and, eq, isNull } from 'drizzle-orm'
import type { BaseCtx } from '../request/context.ts'
import { lists, workspaces } from '../db/schema/index.ts'
import { type Branding, brandingColumns } from '../workspaces/branding.ts'
import type { SubscriptionLink } from './subscription-links.ts'

/** The display names of a list and its sender, and the branding of the workspace. */
export interface ListSender {
  list: string
  sender: string
  branding: Branding
}

/**
 * Returns what the page of a signed link may show: the list and its sender, never the contact. Undefined if the list or
 * its workspace was deleted.
 */
export async function findListSender(base: BaseCtx, link: SubscriptionLink): Promise<ListSender | undefined> {
  const [found] = await base.db
    .select({ list: lists.name, fromName: workspaces.fromName, branding: brandingColumns })
    .from(lists)
    .innerJoin(workspaces, eq(workspaces.id, lists.workspaceId))
    .where(
      and(
        eq(lists.workspaceId, link.workspaceId),
        eq(lists.id, link.listId),
        isNull(lists.deletedAt),
        isNull(workspaces.deletedAt),
      ),
    )
  return found && { list: found.list, sender: found.fromName ?? found.branding.name, branding: found.branding }
}
