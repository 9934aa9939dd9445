import { type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../request/context.ts'
import { campaignRecipients, contacts } from '../db/schema/index.ts'
import { composedStatement } from '../db/statements/named-statement.ts'
import { nullable, uuid, type ValuesOf } from '../db/statements/sql-types.ts'
import { invalidField } from '../kernel/errors.ts'
import { timestampNow } from '../kernel/values/timestamps.ts'
import { type CampaignId, type ContactId, uuidOf } from '../kernel/ids.ts'
import { type Page, readPage } from '../request/paging.ts'
import { isCreatedInRange } from '../request/time-range.ts'
import type { CampaignRecipient, CampaignSummary, RecipientQuery } from './campaigns.schema.ts'
import { readCampaignSummary } from './campaigns.ts'

/** Lists the recipients that a worker has claimed, the recipients with one status, or one contact. */
export async function listRecipients(
  ctx: Ctx,
  id: CampaignId,
  query: RecipientQuery,
): Promise<Page<CampaignRecipient>> {
  const campaign = await readCampaignSummary(ctx, id)
  if (query.contactId) {
    if (query.cursor !== undefined)
      throw invalidField('cursor', 'cursor: must be omitted with contactId: there is one page')
    const found = await findRecipient(ctx, campaign, { ...query, contactId: query.contactId })
    const data = found.filter(({ status }) => query.status === undefined || query.status === status)
    return { data, nextCursor: null }
  }
  const page = query.status === 'PENDING' ? listPending(ctx, campaign, query) : listClaimed(ctx, id, query)
  const { data, nextCursor } = await page
  return { data: data.map((row) => toCampaignRecipient(row, campaign)), nextCursor }
}

function listClaimed(ctx: Ctx, id: CampaignId, query: RecipientQuery): Promise<Page<RecipientRow>> {
  return readPage<RecipientRow>(ctx, {
    name: `recipients ${id} ${query.status ?? ''}`,
    query,
    key: { column: sql`r.created_at`, type: 'timestamptz', valueOf: (row) => row.createdAt ?? '' },
    id: { column: sql`r.contact_id`, valueOf: (row) => row.contactId },
    read: ({ after = sql`true`, orderBy, limit }) =>
      readRows(ctx, {
        from: sql`campaign_recipients r`,
        contactId: sql`r.contact_id`,
        where: sql`${matchesCampaign(ctx, id, 'r')} and ${after}
          and ${isCreatedInRange({ createdAt: sql`r.created_at` }, query) ?? sql`true`}
          ${query.status ? sql`and r.status = ${query.status}` : sql``}
          order by ${sql.join(orderBy, sql`, `)} limit ${limit}`,
      }),
  })
}

/**
 * Lists pending recipients in the order of their batches: a recipient that no worker has claimed has no row, and is
 * only in the `contact_ids` of its batch. A page reads a few batches, regardless of their total number.
 */
function listPending(ctx: Ctx, campaign: CampaignSummary, query: RecipientQuery): Promise<Page<RecipientRow>> {
  const { id } = campaign
  return readPage<RecipientRow>(ctx, {
    name: `recipients ${id} PENDING`,
    query,
    key: { column: sql`b.id`, type: 'uuid', valueOf: (row) => row.batch ?? '' },
    id: { column: sql`recipient.id`, valueOf: (row) => row.contactId },
    read: ({ after = sql`true`, from = sql`true`, orderBy, limit }) =>
      readRows(ctx, {
        from: sql`campaign_batches b cross join lateral unnest(b.contact_ids) as recipient (id)
          left join campaign_recipients r on ${matchesCampaign(ctx, id, 'r')} and r.contact_id = recipient.id`,
        contactId: sql`recipient.id`,
        where: sql`${matchesCampaign(ctx, id, 'b')} and b.status <> 'DONE' and ${from} and ${after}
          and coalesce(r.status in ('SENDING', 'WAITING'), true) and ${isShownInRange(campaign, query)}
          order by ${sql.join(orderBy, sql`, `)} limit ${limit}`,
        batch: sql`b.id`,
      }),
  })
}

/** Finds a contact, also by the ids of contacts that were merged into it. */
async function findRecipient(
  ctx: Ctx,
  campaign: CampaignSummary,
  query: RecipientQuery & { contactId: ContactId },
): Promise<CampaignRecipient[]> {
  const contactUuid = uuidOf(query.contactId)
  const rows = await readRows(ctx, {
    from: sql`(
        select ${contactUuid}::uuid as id union
        select id from contact_aliases
        where workspace_id = ${uuidOf(ctx.workspaceId)} and contact_id = ${contactUuid}) as recipient
      left join campaign_recipients r on ${matchesCampaign(ctx, campaign.id, 'r')} and r.contact_id = recipient.id`,
    contactId: sql`recipient.id`,
    where: sql`(r.contact_id is not null or exists (
      select from campaign_batches b where ${matchesCampaign(ctx, campaign.id, 'b')} and recipient.id = any(b.contact_ids)))
      and ${isShownInRange(campaign, query)}`,
  })
  return rows.map((row) => toCampaignRecipient(row, campaign))
}

/** Until a worker claims a recipient, its `createdAt` is the time at which the campaign was sent. */
function isShownInRange({ sentAt }: CampaignSummary, query: RecipientQuery): SQL {
  const createdAt = sql`coalesce(r.created_at, ${sentAt}::timestamptz)`
  return isCreatedInRange({ createdAt }, query) ?? sql`true`
}

function matchesCampaign(ctx: Ctx, campaignId: CampaignId, table: 'b' | 'r') {
  const name = sql.raw(table)
  return sql`${name}.workspace_id = ${uuidOf(ctx.workspaceId)} and ${name}.campaign_id = ${uuidOf(campaignId)}`
}

/** Without a row in `campaign_recipients`, all columns are null but the id and the email. */
export const campaignRecipientColumns = {
  contactId: campaignRecipients.contactId,
  email: nullable(contacts.email),
  status: nullable(campaignRecipients.status),
  error: campaignRecipients.error,
  createdAt: nullable(campaignRecipients.createdAt),
  endedAt: campaignRecipients.endedAt,
  openedAt: campaignRecipients.openedAt,
  clickedAt: campaignRecipients.clickedAt,
  unsubscribedAt: campaignRecipients.unsubscribedAt,
  bouncedAt: campaignRecipients.bouncedAt,
  complainedAt: campaignRecipients.complainedAt,
  bounceClass: campaignRecipients.bounceClass,
  bounceCode: campaignRecipients.bounceCode,
}
const listedColumns = { ...campaignRecipientColumns, batch: nullable(uuid) }
type RecipientRow = ValuesOf<typeof listedColumns>

const selectRecipients = composedStatement('list recipients', { columns: listedColumns })

function readRows(ctx: Ctx, parts: { from: SQL; contactId: SQL; where: SQL; batch?: SQL }): Promise<RecipientRow[]> {
  return selectRecipients(
    ctx.db,
    sql`
    select ${parts.contactId} as contact_id, c.email, r.status, r.error, r.created_at, r.ended_at, r.opened_at,
      r.clicked_at, r.unsubscribed_at, r.bounced_at, r.complained_at, r.bounce_class, r.bounce_code,
      ${parts.batch ?? sql`null::uuid`} as batch
    from ${parts.from}
    left join contacts c on c.workspace_id = ${uuidOf(ctx.workspaceId)} and c.id = ${parts.contactId}
    where ${parts.where}`,
  )
}

/** A recipient that is SENDING, WAITING or without a row is shown as PENDING. */
export function toCampaignRecipient(
  row: ValuesOf<typeof campaignRecipientColumns>,
  campaign: Pick<CampaignSummary, 'sentAt'>,
): CampaignRecipient {
  const { status } = row
  return {
    contactId: row.contactId,
    email: row.email,
    status: status === null || status === 'SENDING' || status === 'WAITING' ? 'PENDING' : status,
    error: row.error,
    createdAt: row.createdAt ?? campaign.sentAt ?? timestampNow(),
    endedAt: row.endedAt,
    openedAt: row.openedAt,
    clickedAt: row.clickedAt,
    unsubscribedAt: row.unsubscribedAt,
    bouncedAt: row.bouncedAt,
    complainedAt: row.complainedAt,
    bounceClass: row.bounceClass,
    bounceCode: row.bounceCode,
  }
}
