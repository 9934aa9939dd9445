import { and, eq, or } from 'drizzle-orm'
import { readContact } from '../contacts/read-contact.ts'
import { suppressions } from '../db/schema/index.ts'
import { isAnyOf } from '../db/statements/is-any-of.ts'
import type { ContactId } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import type { Page } from '../request/paging.ts'
import { hashEmailWithAllKeys } from '../consent/hash-email.ts'
import { toSuppression } from './suppression-record.ts'
import type { Suppression } from './suppressions.schema.ts'

/** Returns the suppressions of the address of a contact, in one page. */
export async function listSuppressionsOfContact(ctx: Ctx, contactId: ContactId): Promise<Page<Suppression>> {
  const { email } = await readContact(ctx, contactId)
  const rows = await ctx.db
    .select()
    .from(suppressions)
    .where(
      and(
        eq(suppressions.workspaceId, ctx.workspaceId),
        or(eq(suppressions.contactId, contactId), isAnyOf(suppressions.emailHash, hashEmailWithAllKeys(ctx, email))),
      ),
    )
    .orderBy(suppressions.createdAt, suppressions.id)
  return { data: rows.map(toSuppression), nextCursor: null }
}
