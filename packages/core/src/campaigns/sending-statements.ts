/** What is asked of the database for every group of a campaign, prepared. `sending.ts` says what it is for. */
import { sql } from 'drizzle-orm'
import { toSnakeCase } from 'drizzle-orm/casing'
import { preparedSql } from '../db/prepared-query.ts'
import { type Recipient, recipientProperties } from './recipient.ts'
import { updateRecipientCounters } from './recipient-counters.ts'

/** A batch in a worker's hands, in UUIDs. */
export interface BatchKeys extends Record<string, unknown> {
  workspaceId: string
  campaignId: string
  batchId: string
  workerId: string
}

/** A recipient with its UUID, or nulls. */
type ClaimedRow = (Recipient & { attempts: number }) | (Record<keyof Recipient, null> & { attempts: null })

const recipientColumns = sql.raw(
  recipientProperties.map((property) => `c.${toSnakeCase(property)} as "${property}"`).join(', '),
)

/** Inserts the recipients of a group, or takes over those that wait: a row, if only of nulls, while the batch may go on. */
export const claimGroup = preparedSql<BatchKeys & { contactIds: readonly string[] }, ClaimedRow>(
  'claim recipients',
  (param) => sql`
    with mine as (
      select c.list_id from campaigns c
      join campaign_batches b on b.workspace_id = c.workspace_id and b.campaign_id = c.id
      where c.workspace_id = ${param('workspaceId')}::uuid and b.id = ${param('batchId')}::uuid
        and c.status = 'SENDING' and b.status = 'SENDING' and b.worker_id = ${param('workerId')}::uuid),
    claimed as (
      insert into campaign_recipients as r
        (workspace_id, campaign_id, contact_id, batch_id, status, worker_id, error, settled_at)
      select ${param('workspaceId')}::uuid, ${param('campaignId')}::uuid, person.id, ${param('batchId')}::uuid,
        case when s.status = 'CONFIRMED' then 'SENDING' else 'SKIPPED' end, ${param('workerId')}::uuid,
        case when s.status = 'CONFIRMED' then null else 'Left the list before the mail was sent' end,
        case when s.status = 'CONFIRMED' then null else now() end
      from mine
      cross join unnest(${param('contactIds')}::uuid[]) as person (id)
      left join subscriptions s
        on s.workspace_id = ${param('workspaceId')}::uuid and s.list_id = mine.list_id and s.contact_id = person.id
      on conflict (workspace_id, campaign_id, contact_id) do update
      set status = excluded.status, worker_id = excluded.worker_id, error = excluded.error,
        settled_at = excluded.settled_at, attempts = r.attempts + 1
      where r.status = 'WAITING'
      returning workspace_id, batch_id, contact_id, null as was, status as became, attempts),
    ${updateRecipientCounters('claimed')}
    select ${recipientColumns}, c.attempts
    from mine
    left join (
      select contacts.*, claimed.attempts from claimed
      join contacts on contacts.workspace_id = ${param('workspaceId')}::uuid and contacts.id = claimed.contact_id
      where claimed.became = 'SENDING') c on true`,
)

interface Outcomes extends BatchKeys {
  contactIds: string[]
  statuses: string[]
  errors: (string | null)[]
  uncounted: number[]
}

/**
 * Records what became of those whom this worker has in hand. They are looked for in their batch, and not by the campaign:
 * until there are statistics, several indexes of which it is a part look alike, and all of its people would be read each time.
 */
export const recordGroupOutcomes = preparedSql<Outcomes>(
  'record recipient outcomes',
  (param) => sql`
    with settled as (
    update campaign_recipients r
    set status = case when outcome.status = 'WAITING' and r.status = 'INTERRUPTED' then 'FAILED' else outcome.status end,
      error = outcome.error, attempts = r.attempts - outcome.uncounted,
      settled_at = case when outcome.status = 'WAITING' and r.status = 'SENDING' then null else now() end
    from unnest(
      ${param('contactIds')}::uuid[], ${param('statuses')}::text[], ${param('errors')}::text[],
      ${param('uncounted')}::int[])
      as outcome (contact_id, status, error, uncounted)
    where r.workspace_id = ${param('workspaceId')}::uuid and r.batch_id = ${param('batchId')}::uuid
      and r.contact_id = outcome.contact_id and r.worker_id = ${param('workerId')}::uuid
      and r.status in ('SENDING', 'INTERRUPTED')
    returning r.workspace_id, r.batch_id, old.status as was, new.status as became),
    ${updateRecipientCounters('settled')}
    select from settled limit 1`,
)
