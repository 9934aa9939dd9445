import { and, eq, isNull } from 'drizzle-orm'
import type { BaseCtx } from '../request/context.ts'
import { lists, workspaces } from '../db/schema/index.ts'
import type { SubscriptionLink } from './subscription-links.ts'

/** A list and who sends it, by the names that people know them by. */
export interface ListSender {
  list: string
  sender: string
}

/**
 * What whoever holds a signed link is told: of the list alone, never of the contact. Undefined when the list or its
 * workspace is gone.
 */
export async function findListSender(base: BaseCtx, link: SubscriptionLink): Promise<ListSender | undefined> {
  const [found] = await base.db
    .select({ list: lists.name, fromName: workspaces.fromName, workspace: workspaces.name })
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
  return found && { list: found.list, sender: found.fromName ?? found.workspace }
}
