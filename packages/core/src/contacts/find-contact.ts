import { and, eq, sql } from 'drizzle-orm'
import { contacts } from '../db/schema/index.ts'
import { type AppError, changedConcurrently, conflict } from '../kernel/errors.ts'
import type { Ctx } from '../request/context.ts'
import { contactColumns, type ContactRow } from './contact-record.ts'

/** Finds a contact by email, ignoring case. */
export async function findContactByEmail(ctx: Ctx, email: string): Promise<ContactRow | undefined> {
  const [row] = await selectByEmails(ctx, [email])
  return row
}

/** Finds contacts by email, ignoring case. */
export async function findContactsByEmail(ctx: Ctx, emails: readonly string[]): Promise<ContactRow[]> {
  return selectByEmails(ctx, emails)
}

/** Finds contacts by email and locks them until the transaction ends, in the lock order of all writers. */
export async function lockContactsByEmail(ctx: Ctx, emails: readonly string[]): Promise<ContactRow[]> {
  return selectByEmails(ctx, emails).orderBy(contacts.id).for('no key update')
}

/** The error for an email that is taken. `owner` is undefined if the conflicting record was deleted in the meantime. */
export function alreadyExists(owner: ContactRow | undefined): AppError {
  if (owner) return conflict('already_exists', 'Contact already exists', { contactId: owner.id })
  return changedConcurrently()
}

function selectByEmails(ctx: Ctx, emails: readonly string[]) {
  const lowerCase = emails.map((email) => email.toLowerCase())
  return ctx.db
    .select(contactColumns)
    .from(contacts)
    .where(
      and(
        eq(contacts.workspaceId, ctx.workspaceId),
        sql`lower(${contacts.email}) = any(${sql.param(lowerCase)}::text[])`,
      ),
    )
}
