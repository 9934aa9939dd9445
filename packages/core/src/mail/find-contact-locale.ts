import { and, eq } from 'drizzle-orm'
import { contacts } from '../db/schema/index.ts'
import type { ContactId, WorkspaceId } from '../kernel/ids.ts'
import type { BaseCtx } from '../request/context.ts'

/** Returns the locale of a contact. Null if it is unknown, or the contact was deleted. */
export async function findContactLocale(
  base: BaseCtx,
  { workspaceId, contactId }: { workspaceId: WorkspaceId; contactId: ContactId },
): Promise<string | null> {
  const [found] = await base.db
    .select({ locale: contacts.locale })
    .from(contacts)
    .where(and(eq(contacts.workspaceId, workspaceId), eq(contacts.id, contactId)))
  return found?.locale ?? null
}
