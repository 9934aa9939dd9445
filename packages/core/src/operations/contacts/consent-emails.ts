import { sql } from 'drizzle-orm'
import { subscriptions } from '../../db/schema/index.ts'
import { namedStatement } from '../../db/statements/named-statement.ts'
import { arrayOf, text } from '../../db/statements/sql-types.ts'
import type { ContactId } from '../../kernel/ids.ts'
import type { Ctx } from '../../request/context.ts'

/** Finds the addresses for which a contact consented, or was asked to: it may have another one now. */
export async function findConsentEmails(ctx: Ctx, contactId: ContactId): Promise<string[]> {
  return (await findConsentEmailsOf(ctx, [contactId])).get(contactId) ?? []
}

/** Like `findConsentEmails`, for several contacts. Those without such an address are absent. */
export async function findConsentEmailsOf(
  ctx: Ctx,
  contactIds: readonly ContactId[],
): Promise<Map<ContactId, string[]>> {
  if (contactIds.length === 0) return new Map()
  const rows = await selectEmails(ctx.db, { workspaceId: ctx.workspaceId, contactIds })
  const byContact = Map.groupBy(rows, ({ contactId }) => contactId)
  return new Map([...byContact].map(([id, of]) => [id, of.map(({ email }) => email)]))
}

const selectEmails = namedStatement('find emails with consent', {
  params: { workspaceId: subscriptions.workspaceId, contactIds: arrayOf(subscriptions.contactId) },
  columns: { contactId: subscriptions.contactId, email: text },
  sql: ({ workspaceId, contactIds }) => sql`
    select distinct s.contact_id, given.value ->> 'email' as email
    from subscriptions s cross join lateral jsonb_array_elements(s.consent) as given (value)
    where s.workspace_id = ${workspaceId} and s.contact_id = any(${contactIds})`,
})
