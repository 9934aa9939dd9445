import { type trackedActions, type trackingChoices, trackingLevels } from '../../db/schema/index.ts'

/**
 * What an email records of opens or clicks: `OFF` nothing, `ANONYMOUS` how often, without the recipient, `PERSON` the
 * first one of each recipient.
 */
export type TrackingLevel = (typeof trackingLevels)[number]
export type TrackingChoice = (typeof trackingChoices)[number] | 'UNKNOWN'
export type TrackedAction = (typeof trackedActions)[number]
export type TrackingChoices = Record<TrackedAction, TrackingChoice>
export type TrackingLevels = Record<TrackedAction, TrackingLevel>

export const unknownChoices: TrackingChoices = { opens: 'UNKNOWN', clicks: 'UNKNOWN' }
export const noTracking: TrackingLevels = { opens: 'OFF', clicks: 'OFF' }

/**
 * Decides what an email records: the strictest of what its campaign, its workspace and its recipient allow. The setting
 * of the workspace is for recipients who have not said anything; one who denied is not even counted.
 */
export function decideTrackingLevel({
  isTracked,
  withoutConsent,
  choice,
}: {
  /** `trackOpens` or `trackClicks` of the campaign. */
  isTracked: boolean
  /** `trackingWithoutConsent` of the workspace. */
  withoutConsent: TrackingLevel
  choice: TrackingChoice
}): TrackingLevel {
  const byChoice = { GRANTED: 'PERSON', UNKNOWN: withoutConsent, DENIED: 'OFF' } as const
  return strictestOf(isTracked ? 'PERSON' : 'OFF', byChoice[choice])
}

const strictestOf = (...levels: TrackingLevel[]): TrackingLevel =>
  trackingLevels.find((level) => levels.includes(level)) ?? 'OFF'
