/** Prepared statements that `sending.ts` runs once for every group of recipients. */
import { not, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { toSnakeCase } from 'drizzle-orm/casing'
import { campaignRecipients, campaigns, contacts, work } from '../db/schema/index.ts'
import { namedStatement } from '../db/statements/named-statement.ts'
import { arrayOf, int, nullable, text, timestamptz, uuid } from '../db/statements/sql-types.ts'
import { isMailable } from '../consent/derive-status.ts'
import { redactedText } from '../kernel/erase-step.ts'
import { recipientProperties } from '../rendering/recipient.ts'
import { isInStoppedWorkspace } from '../request/workspace-state.ts'
import { hasClaim, renewClaim } from '../work/claims.ts'
import { updateRecipientCounters } from './recipient-counters.ts'

/** A batch and its claim. `token` is the token of the group. */
const batchParams = { workspaceId: work.workspaceId, batchUuid: uuid, token: uuid, now: timestamptz }

type Columns = Pick<typeof contacts, (typeof recipientProperties)[number]>
const recipientColumns = Object.fromEntries(recipientProperties.map((name) => [name, contacts[name]])) as Columns
const recipientNames = sql.raw(recipientProperties.map((property) => `c.${toSnakeCase(property)}`).join(', '))

/**
 * Why no mail may go to a contact. A scalar subquery, because PostgreSQL may run EXISTS as a hash of all aliases of the
 * workspace.
 */
const skipReason = (workspaceId: SQLWrapper, contactId: SQL) => sql`
  case when (select true from contact_aliases a where a.workspace_id = ${workspaceId} and a.id = ${contactId})
    then 'The contact was merged into another' else 'The contact is no longer subscribed' end`

/**
 * Renews the claim of the batch with the token of the group, and claims the recipients of the group that have no row
 * yet or are WAITING. Returns no row if the claim was lost, the campaign is not SENDING, or the workspace is suspended
 * or deleted. Returns one row of nulls if no recipient could be claimed.
 */
export const claimGroup = namedStatement('claim recipients', {
  isPrepared: true,
  params: {
    ...batchParams,
    campaignId: campaigns.id,
    /** The tokens of the claim so far. */
    formerTokens: arrayOf(uuid),
    contactUuids: arrayOf(uuid),
  },
  columns: {
    ...recipientColumns,
    id: nullable(contacts.id),
    attempts: campaignRecipients.attempts,
    listId: campaigns.listId,
  },
  sql: (param) => sql`
    with owned_batch as (
      update work w set ${renewClaim(param.token)} from campaigns c
      where w.workspace_id = ${param.workspaceId} and w.id = ${param.batchUuid}
        and ${hasClaim(param.formerTokens)}
        and c.workspace_id = ${param.workspaceId} and c.id = ${param.campaignId}
        and c.status = 'SENDING' and ${not(isInStoppedWorkspace(sql`c.workspace_id`))}
      returning c.list_id),
    claimed as (
      insert into campaign_recipients as r
        (workspace_id, campaign_id, contact_id, batch_id, status, token, error, ended_at, opens_tracked, clicks_tracked)
      select ${param.workspaceId}, ${param.campaignId}, recipient.id, ${param.batchUuid},
        case when s.contact_id is null then 'SKIPPED' else 'SENDING' end, ${param.token},
        case when s.contact_id is null then ${skipReason(param.workspaceId, sql`recipient.id`)} end,
        case when s.contact_id is null then ${param.now} end, false, false
      from owned_batch
      cross join unnest(${param.contactUuids}) as recipient (id)
      left join subscriptions s on s.workspace_id = ${param.workspaceId}
        and s.list_id = owned_batch.list_id and s.contact_id = recipient.id and ${isMailable('s')}
      on conflict (workspace_id, campaign_id, contact_id) do update
      set status = excluded.status, token = excluded.token, error = excluded.error,
        ended_at = excluded.ended_at, attempts = r.attempts + 1,
        opens_tracked = excluded.opens_tracked, clicks_tracked = excluded.clicks_tracked
      where r.status = 'WAITING'
      returning batch_id, contact_id, null as was, status as became, attempts),
    ${updateRecipientCounters('claimed', param.workspaceId)}
    select ${recipientNames}, c.attempts, owned_batch.list_id
    from owned_batch
    left join (
      select contacts.*, claimed.attempts from claimed
      join contacts on contacts.workspace_id = ${param.workspaceId} and contacts.id = claimed.contact_id
      where claimed.became = 'SENDING') c on true`,
})

/**
 * Whether mail may still go to a claimed recipient, if its contact still has the address: the mail has the name and the
 * links of that contact. `reason` says why not, and is null if it may. Returns no row if the claim was lost.
 */
export const askForRecipient = namedStatement('ask whether a mail may still go', {
  isPrepared: true,
  params: {
    workspaceId: campaigns.workspaceId,
    campaignId: campaigns.id,
    contactId: campaignRecipients.contactId,
    email: contacts.email,
    token: uuid,
  },
  columns: { reason: nullable(text) },
  sql: (param) => sql`
    select case
      when lower(p.email collate "C") <> lower(${param.email} collate "C") then 'The address of the contact has changed'
      when s.contact_id is null then ${skipReason(sql`r.workspace_id`, sql`r.contact_id`)}
      end as reason
    from campaign_recipients r
    join campaigns c on c.workspace_id = r.workspace_id and c.id = r.campaign_id
    left join contacts p on p.workspace_id = r.workspace_id and p.id = r.contact_id
    left join subscriptions s on s.workspace_id = r.workspace_id and s.list_id = c.list_id
      and s.contact_id = p.id and ${isMailable('s')}
    where r.workspace_id = ${param.workspaceId} and r.campaign_id = ${param.campaignId}
      and r.contact_id = ${param.contactId} and r.token = ${param.token} and r.status = 'SENDING'`,
})

/**
 * Records the outcomes of recipients whose last attempt has this token. A bounce that was reported before the outcome
 * stays, and so does an error that an erasure has redacted since recovery. Selects the rows by batch, not by campaign:
 * without table statistics, the planner may choose an index on the campaign and read all of its recipients.
 */
export const recordGroupOutcomes = namedStatement('record recipient outcomes', {
  isPrepared: true,
  /** The arrays have one element per recipient, in the same order. */
  params: {
    ...batchParams,
    contactUuids: arrayOf(uuid),
    statuses: arrayOf(campaignRecipients.status),
    errors: arrayOf(nullable(text)),
    bounceClasses: arrayOf(nullable(text)),
    bounceCodes: arrayOf(nullable(text)),
    providerMessageHashes: arrayOf(nullable(uuid)),
    attemptsToUndo: arrayOf(int),
  },
  sql: (param) => sql`
    with locked as (
      select r.status as was, outcome.*
      from campaign_recipients r
      join unnest(
        ${param.contactUuids}, ${param.statuses}, ${param.errors},
        ${param.bounceClasses}, ${param.bounceCodes}, ${param.providerMessageHashes}, ${param.attemptsToUndo})
        as outcome (contact_id, status, error, bounce_class, bounce_code, provider_message_hash, attempts_to_undo)
        on outcome.contact_id = r.contact_id
      where r.workspace_id = ${param.workspaceId} and r.batch_id = ${param.batchUuid}
        and r.token = ${param.token} and r.status in ('SENDING', 'INTERRUPTED')
      for update of r),
    recorded as (
      update campaign_recipients r
      set status = case when locked.status = 'WAITING' and was = 'INTERRUPTED' then 'FAILED' else locked.status end,
        error = case when r.error = ${redactedText} and locked.error is not null then r.error else locked.error end,
        provider_message_hash = locked.provider_message_hash,
        bounce_class = coalesce(locked.bounce_class, r.bounce_class),
        bounce_code = case when locked.bounce_class is null then r.bounce_code else locked.bounce_code end,
        attempts = r.attempts - locked.attempts_to_undo,
        ended_at = case when locked.status = 'WAITING' and was = 'SENDING' then null else ${param.now} end
      from locked
      where r.workspace_id = ${param.workspaceId} and r.batch_id = ${param.batchUuid}
        and r.contact_id = locked.contact_id
      returning r.batch_id, was, r.status as became),
    ${updateRecipientCounters('recorded', param.workspaceId)}
    select from recorded limit 1`,
})
