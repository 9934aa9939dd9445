import { and, eq, inArray, or, sql } from 'drizzle-orm'
import { auditEntries } from '../db/schema/index.ts'
import type { ContactId } from '../kernel/ids.ts'
import { addressPattern } from '../kernel/values/encode-text.ts'
import type { Ctx } from '../request/context.ts'

/**
 * Removes the notes of lifted suppressions that were about a person, or that contain an address of it: an operator wrote
 * them freely. For an erasure.
 */
export async function forgetLiftNotes(
  ctx: Ctx,
  { contactIds, emails }: { contactIds: readonly ContactId[]; emails: readonly string[] },
): Promise<void> {
  const { details } = auditEntries
  // Turkish collations lower `INFO@` to other letters, and "C" none beyond ASCII.
  const notes = [sql`lower(${details}->>'note')`, sql`lower((${details}->>'note') collate "C")`]
  const containsAddress = emails.flatMap((email) =>
    notes.map((note) => sql`${note} ~ ${addressPattern(email.toLowerCase())}`),
  )
  const isOfPerson = or(inArray(sql`${details}->>'contactId'`, [...contactIds]), ...containsAddress)
  await ctx.db
    .update(auditEntries)
    .set({ details: sql`${details} - 'note' - 'contactId'` })
    .where(
      and(eq(auditEntries.workspaceId, ctx.workspaceId), eq(auditEntries.action, 'suppression.lifted'), isOfPerson),
    )
}
