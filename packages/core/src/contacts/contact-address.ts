import { and, eq, sql } from 'drizzle-orm'
import { contacts } from '../db/schema/index.ts'
import { AppError, conflict } from '../kernel/errors.ts'
import type { Ctx } from '../request/context.ts'
import { contactColumns, type ContactRow } from './contact-record.ts'

/** The contact of an address, without regard to case; undefined when there is none. */
export async function findContactByEmail(ctx: Ctx, email: string): Promise<ContactRow | undefined> {
  const [row] = await selectByEmail(ctx, email)
  return row
}

/** The same, locked as by `lockContact`. */
export async function lockContactByEmail(ctx: Ctx, email: string): Promise<ContactRow | undefined> {
  const [row] = await selectByEmail(ctx, email).for('no key update')
  return row
}

/** The conflict with the contact that has an address. Undefined stands for one that was deleted since. */
export function alreadyExists(owner: ContactRow | undefined): AppError {
  if (owner) return conflict('Contact already exists', { contactId: owner.id })
  return new AppError('unavailable', 'Something that this contact depends on was just deleted: try again')
}

function selectByEmail(ctx: Ctx, email: string) {
  return ctx.db
    .select(contactColumns)
    .from(contacts)
    .where(and(eq(contacts.workspaceId, ctx.workspaceId), sql`lower(${contacts.email}) = lower(${email})`))
}
