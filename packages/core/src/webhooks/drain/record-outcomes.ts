import { sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { preparedSql } from '../../db/prepared-query.ts'
import { uuidOf, type WebhookId, type WorkspaceId } from '../../kernel/ids.ts'

/** How a delivery ended. */
export interface DeliveryOutcome {
  status: 'SUCCEEDED' | 'FAILED'
  /** Null if it was not attempted. */
  attemptedAt: Date | null
  durationMs: number | null
  responseStatus: number | null
  responseBody: string | null
  error: string | null
}

/** A delivery that was attempted, and how that ended. */
export interface EndedDelivery {
  uuid: string
  outcome: DeliveryOutcome
}

/** The claim under which deliveries were taken. */
export interface Claim {
  readonly workspaceId: WorkspaceId
  readonly webhookId: WebhookId
  readonly workerId: string
  /** The token in the database is one of these: there are several after an attempt whose answer was lost. */
  tokens: string[]
}

interface Recorded {
  /** Whether the claim is still valid. */
  isOwner: boolean
  /** Without those that an earlier call recorded whose response was lost. */
  recorded: EndedDelivery[]
}

/**
 * Records outcomes, and locks the row of the claim first. If recovery released the claim, as this worker was considered dead,
 * the deliveries are INTERRUPTED: a late outcome of the same worker overwrites that.
 */
export async function recordOutcomes(
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

const record = preparedSql<RecordParams, { is_valid: boolean | null; recorded: string[] }>(
  'record outcomes',
  (param) => sql`
    with claim as materialized (
      select workspace_id, webhook_id, token = any(${param('tokens')}::uuid[]) as is_valid from webhook_drains
      where workspace_id = ${param('workspaceId')}::uuid and webhook_id = ${param('webhookId')}::uuid for update),
    -- With the whole key, so that no plan reads all deliveries of the webhook to find these.
    outcome as materialized (
      select workspace_id, webhook_id, outcome.* from claim cross join unnest(${param('ids')}::uuid[], ${param('statuses')}::text[], ${param('attemptedAts')}::timestamptz[],
        ${param('durationsMs')}::int[], ${param('responseStatuses')}::int[], ${param('responseBodies')}::text[],
        ${param('errors')}::text[])
        as outcome (id, status, attempted_at, duration_ms, response_status, response_body, error)),
    recorded as (
      update deliveries d
      set status = outcome.status, attempted_at = outcome.attempted_at, duration_ms = outcome.duration_ms,
        response_status = outcome.response_status, response_body = outcome.response_body, error = outcome.error
      from outcome
      where d.workspace_id = outcome.workspace_id and d.webhook_id = outcome.webhook_id and d.id = outcome.id
        and (d.status = 'PENDING' or d.status = 'INTERRUPTED' and d.worker_id = ${param('workerId')}::uuid)
      returning d.id)
    select is_valid, array(select id from recorded) as recorded from claim`,
)
