import type { CampaignStats } from '@rapport/core/campaigns/campaign-stats.schema.ts'
import { Id, uuidOf } from '@rapport/core/kernel/ids.ts'
import type { TestDatabase } from '@rapport/testing/postgres/database.ts'

interface ListKey {
  workspaceId: string
  listId: string
}

/** Adds `count` confirmed subscribers to a list in one statement: `person1@example.com` and so on, or from `first` on. */
export async function addConfirmedSubscribers(
  database: TestDatabase,
  { workspaceId, listId, first = 1 }: ListKey & { first?: number },
  count: number,
) {
  await database.pool.query(
    `with people as (
       insert into contacts (workspace_id, id, email, first_name, email_subscribed_status)
       select $1, uuidv7(), 'person' || n || '@example.com', 'Person ' || n, 'SUBSCRIBED'
       from generate_series($4::int, $4 + $3::int - 1) n
       returning id)
     insert into subscriptions (workspace_id, list_id, contact_id, status, own_status, own_status_at, confirmed_at)
     select $1, $2, id, 'CONFIRMED', 'CONFIRMED', now(), now() from people`,
    [uuidOf(Id('wsp').parse(workspaceId)), uuidOf(Id('lst').parse(listId)), count, first],
  )
}

/** The counters of a campaign: `queued` is always the sum of the others. */
export type RecipientCounts = Pick<CampaignStats, 'queued' | 'sent' | 'failed' | 'skipped' | 'interrupted' | 'pending'>

/** Counts a campaign's recipients in the database by status. */
export async function readRecipientCounts(database: TestDatabase, campaignId: string): Promise<RecipientCounts> {
  const result = await database.pool.query<Omit<RecipientCounts, 'pending'>>(
    `select c.queued,
       count(r.*) filter (where r.status = 'SENT')::int as sent,
       count(r.*) filter (where r.status = 'FAILED')::int as failed,
       count(r.*) filter (where r.status = 'SKIPPED')::int as skipped,
       count(r.*) filter (where r.status = 'INTERRUPTED')::int as interrupted
     from campaigns c
     left join campaign_recipients r on r.workspace_id = c.workspace_id and r.campaign_id = c.id
     where c.id = $1 group by c.queued`,
    [uuidOf(Id('cmp').parse(campaignId))],
  )
  const [row] = result.rows
  if (!row) throw new Error(`Campaign ${campaignId} not found`)
  return { ...row, pending: row.queued - row.sent - row.failed - row.skipped - row.interrupted }
}
