import { sql } from 'drizzle-orm'
import { campaignRecipients } from '../db/schema/index.ts'
import { namedStatement } from '../db/statements/named-statement.ts'
import { arrayOf, bool, uuid } from '../db/statements/sql-types.ts'
import { uuidOf } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import { findTrackingChoices } from '../consent/tracking/tracking-consents.ts'
import {
  decideTrackingLevel,
  noTracking,
  type TrackedAction,
  type TrackingLevel,
  type TrackingLevels,
  unknownChoices,
} from '../consent/tracking/tracking-level.ts'
import type { Recipient } from '../rendering/recipient.ts'

/** What a campaign and its workspace allow to record. */
export interface TrackingPolicy extends Record<TrackedAction, boolean> {
  withoutConsent: TrackingLevel
}

/**
 * Decides what the mails of claimed recipients record, and stores whose mails track them as a person: a filter must know
 * of whom opens and clicks would be seen.
 */
export async function trackRecipients<R extends Recipient>(
  ctx: Ctx,
  { policy, batchUuid, token }: { policy: TrackingPolicy; batchUuid: string; token: string },
  recipients: readonly R[],
): Promise<(R & { tracking: TrackingLevels })[]> {
  if (!policy.opens && !policy.clicks) return recipients.map((one) => ({ ...one, tracking: noTracking }))
  const choices = await findTrackingChoices(ctx, recipients)
  const tracked = recipients.map((one) => ({ ...one, tracking: decideLevels(policy, choices.get(one.id)) }))
  const people = tracked.filter(({ tracking }) => tracking.opens === 'PERSON' || tracking.clicks === 'PERSON')
  if (people.length > 0)
    await setTracked(ctx.db, {
      workspaceId: ctx.workspaceId,
      batchUuid,
      token,
      contactUuids: people.map(({ id }) => uuidOf(id)),
      opens: people.map(({ tracking }) => tracking.opens === 'PERSON'),
      clicks: people.map(({ tracking }) => tracking.clicks === 'PERSON'),
    })
  return tracked
}

function decideLevels({ withoutConsent, ...isTracked }: TrackingPolicy, choices = unknownChoices): TrackingLevels {
  const levelOf = (action: TrackedAction) =>
    decideTrackingLevel({ isTracked: isTracked[action], withoutConsent, choice: choices[action] })
  return { opens: levelOf('opens'), clicks: levelOf('clicks') }
}

const setTracked = namedStatement('track recipients', {
  isPrepared: true,
  /** The arrays have one element per recipient, in the same order. */
  params: {
    workspaceId: campaignRecipients.workspaceId,
    batchUuid: uuid,
    token: uuid,
    contactUuids: arrayOf(uuid),
    opens: arrayOf(bool),
    clicks: arrayOf(bool),
  },
  sql: (param) => sql`
    update campaign_recipients r set opens_tracked = tracked.opens, clicks_tracked = tracked.clicks
    from unnest(${param.contactUuids}, ${param.opens}, ${param.clicks}) as tracked (contact_id, opens, clicks)
    where r.workspace_id = ${param.workspaceId} and r.batch_id = ${param.batchUuid}
      and r.contact_id = tracked.contact_id and r.token = ${param.token}`,
})
