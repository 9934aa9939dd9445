import { sql } from 'drizzle-orm'
import { type ContactId, uuidOf } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'

/** Finds the addresses for which a contact consented, or was asked to: it may have another one now. */
export async function findConsentEmails(ctx: Ctx, contactId: ContactId): Promise<string[]> {
  const { rows } = await ctx.db.execute<{ email: string }>(sql`
    select distinct given.value ->> 'email' as email
    from subscriptions s cross join lateral jsonb_array_elements(s.consent) as given (value)
    where s.workspace_id = ${uuidOf(ctx.workspaceId)} and s.contact_id = ${uuidOf(contactId)}`)
  return rows.map(({ email }) => email)
}
