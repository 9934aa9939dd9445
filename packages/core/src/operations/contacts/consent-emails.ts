import { sql } from 'drizzle-orm'
import { subscriptions } from '../../db/schema/index.ts'
import { namedStatement } from '../../db/statements/named-statement.ts'
import { text } from '../../db/statements/sql-types.ts'
import type { ContactId } from '../../kernel/ids.ts'
import type { Ctx } from '../../request/context.ts'

/** Finds the addresses for which a contact consented, or was asked to: it may have another one now. */
export async function findConsentEmails(ctx: Ctx, contactId: ContactId): Promise<string[]> {
  const rows = await selectEmails(ctx.db, { workspaceId: ctx.workspaceId, contactId })
  return rows.map(({ email }) => email)
}

const selectEmails = namedStatement('find emails with consent', {
  params: { workspaceId: subscriptions.workspaceId, contactId: subscriptions.contactId },
  columns: { email: text },
  sql: ({ workspaceId, contactId }) => sql`
    select distinct given.value ->> 'email' as email
    from subscriptions s cross join lateral jsonb_array_elements(s.consent) as given (value)
    where s.workspace_id = ${workspaceId} and s.contact_id = ${contactId}`,
})
