import { sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { namedStatement } from '../../db/statements/named-statement.ts'
import { deliveries } from '../../db/schema/index.ts'
import { arrayOf, bool, int, nullable, text, timestamptz, uuid } from '../../db/statements/sql-types.ts'
import { redactedText } from '../../kernel/erase-step.ts'
import { hasClaim } from '../../work/claims.ts'
import { drainId } from '../../work/queues.ts'
import type { EndedDelivery } from './delivery-outcome.ts'
import type { DrainClaim } from './drain-claim.ts'
import { updateHealth } from './receiver-state.ts'

/**
 * Locks the claim, records outcomes, and updates the health of their webhooks. Returns whether the claim is still valid.
 * If it was recovered, the deliveries are INTERRUPTED; a late outcome of the same worker overwrites that status. A late
 * PENDING becomes FAILED, as a user may have sent the delivery again by then. The response is not recorded if the contact
 * was erased in between: nothing would redact it. Ignores outcomes that an earlier call has recorded, whose response was
 * lost. `ended` must be in the order in which the attempts ended.
 */
export async function recordOutcomes(db: Db, claim: DrainClaim, ended: readonly EndedDelivery[]): Promise<boolean> {
  const [row] = await record(db, {
    workspaceId: claim.workspaceId,
    workerId: claim.workerId,
    tokens: claim.tokens,
    webhookIds: ended.map(({ webhookId }) => webhookId),
    ids: ended.map(({ uuid }) => uuid),
    statuses: ended.map(({ outcome }) => outcome.status),
    attemptedAts: ended.map(({ outcome }) => outcome.attemptedAt),
    durationsMs: ended.map(({ outcome }) => outcome.durationMs),
    responseStatuses: ended.map(({ outcome }) => outcome.responseStatus),
    responseBodies: ended.map(({ outcome }) => outcome.responseBody),
    errors: ended.map(({ outcome }) => outcome.error),
  })
  const isOwner = row?.isOwner ?? false
  if (isOwner) {
    const recorded = ended.filter(({ uuid }) => row?.recorded.includes(uuid))
    await updateHealth(db, claim, recorded)
  }
  return isOwner
}

/**
 * Uses no join, so that each delivery is found by its whole primary key. A join that is planned while the table is
 * small would read all deliveries of a webhook. The ids come from a CTE instead of a parameter, to prevent partition
 * pruning: see `take-deliveries.ts`. The update counts the rows of `claim`, so that the claim is locked before.
 */
const record = namedStatement('record outcomes', {
  isPrepared: true,
  params: {
    workspaceId: deliveries.workspaceId,
    workerId: uuid,
    tokens: arrayOf(uuid),
    webhookIds: arrayOf(deliveries.webhookId),
    ids: arrayOf(uuid),
    statuses: arrayOf(deliveries.status),
    attemptedAts: arrayOf(nullable(timestamptz)),
    durationsMs: arrayOf(nullable(int)),
    responseStatuses: arrayOf(nullable(int)),
    responseBodies: arrayOf(nullable(text)),
    errors: arrayOf(nullable(text)),
  },
  columns: { isOwner: bool, recorded: arrayOf(uuid) },
  sql: (param) => sql`
    with claim as materialized (
      select ${hasClaim(param.tokens)} as is_owner from work
      where workspace_id = ${param.workspaceId} and id = ${drainId}::uuid for update),
    outcome as materialized (
      select * from unnest(${param.webhookIds}, ${param.ids}, ${param.statuses}, ${param.attemptedAts},
        ${param.durationsMs}, ${param.responseStatuses}, ${param.responseBodies}, ${param.errors})
        as outcome (webhook_id, id, status, attempted_at, duration_ms, response_status, response_body, error)),
    recorded as (
      update deliveries d
      set (status, attempted_at, duration_ms, response_status, response_body, error) = (
        select case when d.status = 'INTERRUPTED' and status = 'PENDING' then 'FAILED' else status end,
          attempted_at, duration_ms, response_status,
          case when d.status = 'INTERRUPTED' and d.error = ${redactedText} then null else response_body end,
          case when d.status = 'INTERRUPTED' and d.error = ${redactedText} and error is not null then d.error else error end
        from outcome where outcome.id = d.id limit 1)
      where d.workspace_id = ${param.workspaceId} and d.webhook_id = any(array(select webhook_id from outcome))
        and d.id = any(array(select id from outcome)) and (select count(*) from claim) >= 0
        and (d.status = 'PENDING' or d.status = 'INTERRUPTED' and d.worker_id = ${param.workerId})
      returning d.id)
    select coalesce((select is_owner from claim), false) as is_owner, array(select id from recorded) as recorded`,
})
