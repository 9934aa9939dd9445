/** Prepared statements that `sending.ts` runs once for every group of recipients. */
import { not, sql } from 'drizzle-orm'
import { toSnakeCase } from 'drizzle-orm/casing'
import { type Params, preparedSql } from '../db/prepared-query.ts'
import { isInSuspendedWorkspace } from '../request/suspended-workspace.ts'
import { renewClaim } from '../work/claims.ts'
import { type Recipient, recipientProperties } from './recipient.ts'
import { updateRecipientCounters } from './recipient-counters.ts'

/** A batch and its claim. */
interface BatchParams extends Record<string, unknown> {
  workspaceUuid: string
  batchUuid: string
  /** The token of the group. */
  token: string
  now: Date
}

/** A claimed recipient, with its UUID as `id`. All columns are null if no recipient was claimed. */
type ClaimedRow = (Recipient & { attempts: number }) | (Record<keyof Recipient, null> & { attempts: null })

const recipientColumns = sql.raw(
  recipientProperties.map((property) => `c.${toSnakeCase(property)} as "${property}"`).join(', '),
)

interface Group extends BatchParams {
  campaignUuid: string
  /** The tokens of the claim so far. */
  formerTokens: readonly string[]
  contactUuids: readonly string[]
}

const renewed = (param: Params<Group>) => renewClaim(param('token'), param('formerTokens'))

/**
 * Renews the claim of the batch with the token of the group, and claims the recipients of the group that have no row
 * yet or are WAITING. Returns no row if the claim was lost, the campaign is not SENDING, or the workspace is suspended.
 * Returns one row of nulls if no recipient could be claimed.
 */
export const claimGroup = preparedSql<Group, ClaimedRow>(
  'claim recipients',
  (param) => sql`
    with owned_batch as (
      update work w set ${renewed(param).assignment} from campaigns c
      where w.workspace_id = ${param('workspaceUuid')}::uuid and w.id = ${param('batchUuid')}::uuid
        and ${renewed(param).condition}
        and c.workspace_id = ${param('workspaceUuid')}::uuid and c.id = ${param('campaignUuid')}::uuid
        and c.status = 'SENDING' and ${not(isInSuspendedWorkspace(sql`c.workspace_id`))}
      returning c.list_id),
    claimed as (
      insert into campaign_recipients as r
        (workspace_id, campaign_id, contact_id, batch_id, status, token, error, settled_at)
      select ${param('workspaceUuid')}::uuid, ${param('campaignUuid')}::uuid, recipient.id, ${param('batchUuid')}::uuid,
        case when s.status = 'CONFIRMED' then 'SENDING' else 'SKIPPED' end, ${param('token')}::uuid,
        case when s.status = 'CONFIRMED' then null else 'The contact is no longer subscribed' end,
        case when s.status = 'CONFIRMED' then null else ${param('now')}::timestamptz end
      from owned_batch
      cross join unnest(${param('contactUuids')}::uuid[]) as recipient (id)
      left join subscriptions s on s.workspace_id = ${param('workspaceUuid')}::uuid
        and s.list_id = owned_batch.list_id and s.contact_id = recipient.id
      on conflict (workspace_id, campaign_id, contact_id) do update
      set status = excluded.status, token = excluded.token, error = excluded.error,
        settled_at = excluded.settled_at, attempts = r.attempts + 1
      where r.status = 'WAITING'
      returning batch_id, contact_id, null as was, status as became, attempts),
    ${updateRecipientCounters('claimed', sql`${param('workspaceUuid')}::uuid`)}
    select ${recipientColumns}, c.attempts
    from owned_batch
    left join (
      select contacts.*, claimed.attempts from claimed
      join contacts on contacts.workspace_id = ${param('workspaceUuid')}::uuid and contacts.id = claimed.contact_id
      where claimed.became = 'SENDING') c on true`,
)

/** The arrays have one element per recipient, in the same order. */
interface GroupOutcomes extends BatchParams {
  contactUuids: string[]
  statuses: string[]
  errors: (string | null)[]
  attemptsToUndo: number[]
}

/**
 * Records the outcomes of recipients whose last attempt has this token. Selects the rows by batch, not by campaign: without
 * table statistics, the planner may choose an index on the campaign and read all recipients of the campaign.
 */
export const recordGroupOutcomes = preparedSql<GroupOutcomes>(
  'record recipient outcomes',
  (param) => sql`
    with locked as (
      select r.status as was, outcome.*
      from campaign_recipients r
      join unnest(
        ${param('contactUuids')}::uuid[], ${param('statuses')}::text[], ${param('errors')}::text[],
        ${param('attemptsToUndo')}::int[])
        as outcome (contact_id, status, error, attempts_to_undo) on outcome.contact_id = r.contact_id
      where r.workspace_id = ${param('workspaceUuid')}::uuid and r.batch_id = ${param('batchUuid')}::uuid
        and r.token = ${param('token')}::uuid and r.status in ('SENDING', 'INTERRUPTED')
      for update of r),
    recorded as (
      update campaign_recipients r
      set status = case when locked.status = 'WAITING' and was = 'INTERRUPTED' then 'FAILED' else locked.status end,
        error = locked.error, attempts = r.attempts - locked.attempts_to_undo,
        settled_at = case when locked.status = 'WAITING' and was = 'SENDING' then null else ${param('now')}::timestamptz end
      from locked
      where r.workspace_id = ${param('workspaceUuid')}::uuid and r.batch_id = ${param('batchUuid')}::uuid
        and r.contact_id = locked.contact_id
      returning r.batch_id, was, r.status as became),
    ${updateRecipientCounters('recorded', sql`${param('workspaceUuid')}::uuid`)}
    select from recorded limit 1`,
)
