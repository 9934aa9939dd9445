import { sql } from 'drizzle-orm'
import { selectMergedIds } from '../contacts/contact-aliases.ts'
import { campaignRecipients, campaigns } from '../db/schema/index.ts'
import { composedStatement } from '../db/statements/named-statement.ts'
import type { ValuesOf } from '../db/statements/sql-types.ts'
import { type ContactId, uuidOf } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import { type Page, readPage } from '../request/paging.ts'
import type { ReceivedCampaign } from './campaigns.schema.ts'
import { campaignRecipientColumns, toCampaignRecipient } from './list-recipients.ts'

/** Returns a page of the campaigns of which a contact, or a contact that was merged into it, is a recipient. */
export async function listCampaignsOfContact(
  ctx: Ctx,
  contactId: ContactId,
  query: { limit: number; cursor?: string | undefined },
): Promise<Page<ReceivedCampaign>> {
  const workspace = sql`${uuidOf(ctx.workspaceId)}::uuid`
  const page = await readPage<ReceivedRow>(ctx, {
    name: `campaigns ${contactId}`,
    query: { ...query, sort: 'campaignId' },
    key: { column: sql`r.campaign_id`, type: 'uuid', valueOf: (row) => uuidOf(row.campaignId) },
    id: { column: sql`r.contact_id`, valueOf: (row) => row.contactId },
    // No index starts with the contact: OFFSET 0 keeps the lookup of each campaign's recipients a subquery, which reads
    // one or a few rows by the primary key.
    read: ({ after = sql`true`, orderBy, limit }) =>
      selectReceived(
        ctx.db,
        sql`
        select c.name, c.subject, r.campaign_id, r.contact_id, null::text as email, r.status, r.error, r.created_at,
          r.ended_at, r.opened_at, r.clicked_at, r.unsubscribed_at, r.bounced_at, r.complained_at,
          r.bounce_class, r.bounce_code, r.opens_tracked, r.clicks_tracked
        from campaigns c cross join lateral (
          select * from campaign_recipients
          where workspace_id = ${workspace} and campaign_id = c.id and contact_id in (${selectMergedIds(ctx, contactId)})
          offset 0) r
        where c.workspace_id = ${workspace} and c.status <> 'DRAFT' and ${after}
        order by ${sql.join(orderBy, sql`, `)} limit ${limit}`,
      ),
  })
  return { ...page, data: page.data.map(toReceivedCampaign) }
}

const columns = {
  ...campaignRecipientColumns,
  campaignId: campaignRecipients.campaignId,
  name: campaigns.name,
  subject: campaigns.subject,
  opensTracked: campaignRecipients.opensTracked,
  clicksTracked: campaignRecipients.clicksTracked,
}
type ReceivedRow = ValuesOf<typeof columns>
const selectReceived = composedStatement('list campaigns of a contact', { columns })

function toReceivedCampaign(row: ReceivedRow): ReceivedCampaign {
  const { contactId, email: _, ...delivery } = toCampaignRecipient(row, { sentAt: null })
  const { campaignId, name, subject, opensTracked, clicksTracked } = row
  return { campaignId, contactId, name, subject, ...delivery, opensTracked, clicksTracked }
}
