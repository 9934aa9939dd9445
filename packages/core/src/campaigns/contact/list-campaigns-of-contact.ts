import { sql } from 'drizzle-orm'
import { selectMergedIds } from '../../contacts/contact-aliases.ts'
import { type ContactId, idOf, uuidOf } from '../../kernel/ids.ts'
import type { Ctx } from '../../request/context.ts'
import { type Page, readPage } from '../../request/paging.ts'
import type { ReceivedCampaign } from '../campaigns.schema.ts'
import { type RecipientRow, toRecipient } from '../list-recipients.ts'

/** Returns a page of the campaigns of which a contact, or a contact that was merged into it, is a recipient. */
export async function listCampaignsOfContact(
  ctx: Ctx,
  contactId: ContactId,
  query: { limit: number; cursor?: string | undefined },
): Promise<Page<ReceivedCampaign>> {
  const workspace = sql`${uuidOf(ctx.workspaceId)}::uuid`
  const page = await readPage<RecipientRow>(ctx, {
    name: `campaigns ${contactId}`,
    query: { ...query, sort: 'campaignId' },
    key: { column: sql`r.campaign_id`, type: 'uuid', valueOf: (row) => String(row['campaign_id']) },
    id: { column: sql`r.contact_id`, valueOf: (row) => idOf('con', String(row['contact_id'])) },
    read: async ({ after = sql`true`, orderBy, limit }) => {
      // No index starts with the contact: OFFSET 0 keeps the lookup of each campaign's recipients a subquery, which
      // reads one or a few rows by the primary key.
      const { rows } = await ctx.db.execute<RecipientRow>(sql`
        select c.name, c.subject, r.*, null as email
        from campaigns c cross join lateral (
          select * from campaign_recipients
          where workspace_id = ${workspace} and campaign_id = c.id and contact_id in (${selectMergedIds(ctx, contactId)})
          offset 0) r
        where c.workspace_id = ${workspace} and c.status <> 'DRAFT' and ${after}
        order by ${sql.join(orderBy, sql`, `)} limit ${limit}`)
      return rows
    },
  })
  return { ...page, data: page.data.map(toReceivedCampaign) }
}

function toReceivedCampaign(row: RecipientRow): ReceivedCampaign {
  const { contactId, email: _, ...delivery } = toRecipient(row, { sentAt: null })
  return {
    campaignId: idOf('cmp', String(row['campaign_id'])),
    contactId,
    name: String(row['name']),
    subject: String(row['subject']),
    ...delivery,
  }
}
