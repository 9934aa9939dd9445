/** What is reported of the recipients of campaigns: bounces, and how a report finds its recipient. */
import { and, eq, inArray, isNotNull, or, sql } from 'drizzle-orm'
import { findMergedIds } from '../contacts/contact-aliases.ts'
import { campaignRecipients } from '../db/schema/index.ts'
import { isAnyOf } from '../db/statements/is-any-of.ts'
import { namedStatement } from '../db/statements/named-statement.ts'
import { arrayOf, nullable, text } from '../db/statements/sql-types.ts'
import type { CampaignId, ContactId } from '../kernel/ids.ts'
import type { Timestamp } from '../kernel/values/timestamps.ts'
import type { Bounce } from '../mail/bounces/classify-bounce.ts'
import { lastBounces } from '../mail/bounces/last-bounces.ts'
import type { Ctx } from '../request/context.ts'
import type { RecipientKey } from './engagement.ts'

const { workspaceId, campaignId, contactId } = campaignRecipients
const keyParams = { workspaceId, campaignIds: arrayOf(campaignId), contactIds: arrayOf(contactId) }

/** Identifies a recipient in a Map. */
export const recipientKey = ({ campaignId, contactId }: RecipientKey): string => `${campaignId} ${contactId}`

/** Records the class and code of a bounce of each recipient. A HARD bounce replaces an earlier one, and stays. */
export async function recordBounces(
  ctx: Ctx,
  bounces: readonly { recipient: RecipientKey; bounce: Bounce }[],
): Promise<void> {
  const rows = lastBounces(bounces, ({ recipient }) => recipientKey(recipient))
  if (rows.length === 0) return
  await updateBounces(ctx.db, {
    workspaceId: ctx.workspaceId,
    campaignIds: rows.map(({ recipient }) => recipient.campaignId),
    contactIds: rows.map(({ recipient }) => recipient.contactId),
    classes: rows.map(({ bounce }) => bounce.class),
    codes: rows.map(({ bounce }) => bounce.code),
  })
}

const updateBounces = namedStatement('record bounces of recipients', {
  params: { ...keyParams, classes: arrayOf(text), codes: arrayOf(nullable(text)) },
  sql: ({ workspaceId, campaignIds, contactIds, classes, codes }) => sql`
    update campaign_recipients r set bounce_class = given.class, bounce_code = given.code
    from unnest(${campaignIds}, ${contactIds}, ${classes}, ${codes}) as given (campaign_id, contact_id, class, code)
    where r.workspace_id = ${workspaceId} and r.campaign_id = given.campaign_id and r.contact_id = given.contact_id
      and r.bounce_class is distinct from 'HARD'`,
})

/** When a worker first claimed each recipient, to send the mail, by `recipientKey`. Those that are none are absent. */
export async function findMailedAt(ctx: Ctx, recipients: readonly RecipientKey[]): Promise<Map<string, Timestamp>> {
  if (recipients.length === 0) return new Map()
  const rows = await selectMailedAt(ctx.db, {
    workspaceId: ctx.workspaceId,
    campaignIds: recipients.map((one) => one.campaignId),
    contactIds: recipients.map((one) => one.contactId),
  })
  return new Map(rows.map(({ createdAt, ...key }) => [recipientKey(key), createdAt]))
}

const selectMailedAt = namedStatement('find when recipients were claimed', {
  params: keyParams,
  columns: { campaignId, contactId, createdAt: campaignRecipients.createdAt },
  sql: ({ workspaceId, campaignIds, contactIds }) => sql`
    select r.campaign_id, r.contact_id, r.created_at
    from unnest(${campaignIds}, ${contactIds}) as given (campaign_id, contact_id)
    join campaign_recipients r on r.workspace_id = ${workspaceId} and r.campaign_id = given.campaign_id
      and r.contact_id = given.contact_id`,
})

/** When the mails of campaigns were sent to contacts, and to the contacts that were merged into them, by contact. */
export async function listMailedAt(ctx: Ctx, contactIds: readonly ContactId[]): Promise<Map<ContactId, Timestamp[]>> {
  const currentIds = await findMergedIds(ctx, contactIds)
  const rows = await ctx.db
    .select({ contactId, createdAt: campaignRecipients.createdAt })
    .from(campaignRecipients)
    .where(
      and(
        eq(workspaceId, ctx.workspaceId),
        isAnyOf(contactId, [...currentIds.keys()]),
        or(
          inArray(campaignRecipients.status, ['SENDING', 'SENT']),
          and(eq(campaignRecipients.status, 'FAILED'), isNotNull(campaignRecipients.bounceClass)),
        ),
      ),
    )
  const byContact = Map.groupBy(rows, (row) => currentIds.get(row.contactId) ?? row.contactId)
  return new Map([...byContact].map(([id, of]) => [id, of.map(({ createdAt }) => createdAt)]))
}

/** Finds the recipients of emails by the hashes of the ids that the mail server gave them. */
export async function findRecipientsByProviderIds(
  ctx: Ctx,
  hashes: readonly string[],
): Promise<Map<string | null, RecipientKey>> {
  if (hashes.length === 0) return new Map()
  const { providerMessageHash: hash } = campaignRecipients
  const rows = await ctx.db
    .select({ hash, campaignId, contactId })
    .from(campaignRecipients)
    .where(and(eq(workspaceId, ctx.workspaceId), isAnyOf(hash, hashes)))
  return new Map(rows.map(({ hash, ...recipient }) => [hash, recipient]))
}

interface TokenRecipient {
  contactId: ContactId
  campaignSuffix: string
}

export const tokenRecipientKey = (recipient: TokenRecipient): string =>
  `${recipient.contactId} ${recipient.campaignSuffix}`

/** Finds the campaigns of recipients by the last hexadecimal digits of their ids, by `tokenRecipientKey`. */
export async function findCampaignsOfRecipients(
  ctx: Ctx,
  recipients: readonly TokenRecipient[],
): Promise<Map<string, CampaignId>> {
  if (recipients.length === 0) return new Map()
  const rows = await selectCampaigns(ctx.db, {
    workspaceId: ctx.workspaceId,
    contactIds: recipients.map((one) => one.contactId),
    suffixes: recipients.map(({ campaignSuffix }) => campaignSuffix),
  })
  return new Map(rows.map(({ campaignId, ...recipient }) => [tokenRecipientKey(recipient), campaignId]))
}

const selectCampaigns = namedStatement('find campaigns of recipients', {
  params: { workspaceId, contactIds: arrayOf(contactId), suffixes: arrayOf(text) },
  columns: { campaignId, contactId, campaignSuffix: text },
  sql: ({ workspaceId, contactIds, suffixes }) => sql`
    select r.campaign_id, r.contact_id, given.suffix as campaign_suffix
    from unnest(${contactIds}, ${suffixes}) as given (contact_id, suffix)
    join campaign_recipients r on r.workspace_id = ${workspaceId} and r.contact_id = given.contact_id
      and right(r.campaign_id::text, length(given.suffix)) = given.suffix`,
})
