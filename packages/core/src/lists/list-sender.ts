import { and, eq, isNull } from 'drizzle-orm'
import type { BaseCtx } from '../request/context.ts'
import type { Locales } from '../kernel/values/languages.ts'
import { contacts, lists, workspaces } from '../db/schema/index.ts'
import { type Branding, brandingColumns } from '../workspaces/branding.ts'
import type { SubscriptionLink } from './subscription-links.ts'

/** The display names of a list and its sender, and the branding of the workspace. */
export interface ListSender {
  list: string
  sender: string
  branding: Branding
  /** Where the language of the page comes from. */
  locales: Locales
}

/**
 * Returns what the page of a signed link may show: the list and its sender. Of the contact, only the language. Undefined
 * if the list or its workspace was deleted.
 */
export async function findListSender(base: BaseCtx, link: SubscriptionLink): Promise<ListSender | undefined> {
  const [found] = await base.db
    .select({
      list: lists.name,
      fromName: workspaces.fromName,
      branding: brandingColumns,
      locales: { contact: contacts.locale, content: lists.locale, workspace: workspaces.locale },
    })
    .from(lists)
    .innerJoin(workspaces, eq(workspaces.id, lists.workspaceId))
    .leftJoin(contacts, and(eq(contacts.workspaceId, lists.workspaceId), eq(contacts.id, link.contactId)))
    .where(
      and(
        eq(lists.workspaceId, link.workspaceId),
        eq(lists.id, link.listId),
        isNull(lists.deletedAt),
        isNull(workspaces.deletedAt),
      ),
    )
  if (!found) return undefined
  const { list, fromName, branding, locales } = found
  return { list, sender: fromName ?? branding.name, branding, locales }
}
