import { sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { preparedSql } from '../../db/prepared-query.ts'
import { uuidOf, type WebhookId, type WorkspaceId } from '../../kernel/ids.ts'

export interface DeliveryOutcome {
  /** PENDING: the delivery could not be signed. It was not sent, and waits for its attempt. */
  status: 'SUCCEEDED' | 'FAILED' | 'PENDING'
  /** Null if the delivery was not attempted. */
  attemptedAt: Date | null
  durationMs: number | null
  responseStatus: number | null
  responseBody: string | null
  error: string | null
}

export interface EndedDelivery {
  uuid: string
  outcome: DeliveryOutcome
}

export interface Claim {
  readonly workspaceId: WorkspaceId
  readonly webhookId: WebhookId
  readonly workerId: string
  /**
   * The row of `webhook_drains` has one of these tokens. There are several only after the response of a take was lost.
   */
  tokens: string[]
}

interface Recorded {
  /** Whether the claim is still valid. */
  isOwner: boolean
  /** Excludes deliveries that an earlier call has already recorded, if its response was lost. */
  recorded: EndedDelivery[]
}

/**
 * Locks the row of the claim and records outcomes. If recovery has released the claim, the deliveries are INTERRUPTED;
 * a late outcome of the same worker overwrites that status. A late PENDING becomes FAILED, as a user may have sent the
 * delivery again by then.
 */
export async function recordDeliveryOutcomes(
  db: Db,
  { workspaceId, webhookId, workerId, tokens }: Claim,
  ended: readonly EndedDelivery[],
): Promise<Recorded> {
  const [claim] = await record(db, {
    workspaceId: uuidOf(workspaceId),
    webhookId: uuidOf(webhookId),
    workerId,
    tokens,
    ids: ended.map(({ uuid }) => uuid),
    statuses: ended.map(({ outcome }) => outcome.status),
    attemptedAts: ended.map(({ outcome }) => outcome.attemptedAt),
    durationsMs: ended.map(({ outcome }) => outcome.durationMs),
    responseStatuses: ended.map(({ outcome }) => outcome.responseStatus),
    responseBodies: ended.map(({ outcome }) => outcome.responseBody),
    errors: ended.map(({ outcome }) => outcome.error),
  })
  const recorded = ended.filter(({ uuid }) => claim?.recorded.includes(uuid))
  return { isOwner: claim?.is_valid ?? false, recorded }
}

interface RecordParams extends Record<string, unknown> {
  workspaceId: string
  webhookId: string
  workerId: string
  tokens: string[]
  ids: string[]
  statuses: string[]
  attemptedAts: (Date | null)[]
  durationsMs: (number | null)[]
  responseStatuses: (number | null)[]
  responseBodies: (string | null)[]
  errors: (string | null)[]
}

/**
 * Uses no join, so that each delivery is found by its whole primary key. A join that is planned while the table is
 * small would read all deliveries of the webhook. The ids come from a CTE instead of a parameter, to prevent partition
 * pruning: see `takeDeliveries` in `backlog-claim.ts`.
 */
const record = preparedSql<RecordParams, { is_valid: boolean | null; recorded: string[] }>(
  'record outcomes',
  (param) => sql`
    with claim as materialized (
      select token = any(${param('tokens')}::uuid[]) as is_valid from webhook_drains
      where workspace_id = ${param('workspaceId')}::uuid and webhook_id = ${param('webhookId')}::uuid for update),
    outcome as materialized (
      select * from unnest(${param('ids')}::uuid[], ${param('statuses')}::text[], ${param('attemptedAts')}::timestamptz[],
        ${param('durationsMs')}::int[], ${param('responseStatuses')}::int[], ${param('responseBodies')}::text[],
        ${param('errors')}::text[])
        as outcome (id, status, attempted_at, duration_ms, response_status, response_body, error)),
    recorded as (
      update deliveries d
      set (status, attempted_at, duration_ms, response_status, response_body, error) = (
        select case when d.status = 'INTERRUPTED' and status = 'PENDING' then 'FAILED' else status end,
          attempted_at, duration_ms, response_status, response_body, error from outcome
        where outcome.id = d.id limit 1)
      where d.workspace_id = ${param('workspaceId')}::uuid and d.webhook_id = ${param('webhookId')}::uuid
        and d.id = any(array(select id from outcome)) and exists (select from claim)
        and (d.status = 'PENDING' or d.status = 'INTERRUPTED' and d.worker_id = ${param('workerId')}::uuid)
      returning d.id)
    select is_valid, array(select id from recorded) as recorded from claim`,
)
