import { and, eq, sql } from 'drizzle-orm'
import { contacts } from '../db/schema/index.ts'
import { AppError, conflict } from '../kernel/errors.ts'
import type { Ctx } from '../request/context.ts'
import { contactColumns, type ContactRow } from './contact-record.ts'

/** Finds a contact by email, ignoring case. */
export async function findContactByEmail(ctx: Ctx, email: string): Promise<ContactRow | undefined> {
  const [row] = await selectByEmail(ctx, email)
  return row
}

/** Finds contacts by email, ignoring case. */
export function findContactsByEmail(ctx: Ctx, emails: readonly string[]): Promise<ContactRow[]> {
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

/** Finds and locks a contact by email, ignoring case. */
export async function lockContactByEmail(ctx: Ctx, email: string): Promise<ContactRow | undefined> {
  const [row] = await selectByEmail(ctx, email).for('no key update')
  return row
}

/** The error for an email that is taken. `owner` is undefined if the conflicting record was deleted in the meantime. */
export function alreadyExists(owner: ContactRow | undefined): AppError {
  if (owner) return conflict('already_exists', 'Contact already exists', { contactId: owner.id })
  return new AppError('unavailable', 'A concurrent request changed related data; retry the request')
}

function selectByEmail(ctx: Ctx, email: string) {
  return ctx.db
    .select(contactColumns)
    .from(contacts)
    .where(and(eq(contacts.workspaceId, ctx.workspaceId), sql`lower(${contacts.email}) = lower(${email})`))
}
