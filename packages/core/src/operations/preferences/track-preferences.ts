/** What a person chooses on the preferences page about the tracking of opens and clicks. */
import { trackedActions } from '../../db/schema/index.ts'
import { invalidToken } from '../../kernel/errors.ts'
import type { BaseCtx } from '../../request/context.ts'
import { requireNotSuspended } from '../../request/workspace-state.ts'
import { requestGrant } from '../../consent/tracking/grant-tracking.ts'
import { denyByContact, readTrackingChoices } from '../../consent/tracking/tracking-consents.ts'
import type { TrackedAction } from '../../consent/tracking/tracking-level.ts'
import { withLockedHolder } from './lock-holder.ts'

interface TrackingWish {
  token: string
  /** What the person allows. Everything else is denied. */
  allowed: readonly TrackedAction[]
  /** The texts that the person saw, for the proof. */
  wording: Record<TrackedAction, string>
  /** Of the page. */
  locale?: string | undefined
}

/**
 * `ASKED`: an email asks to confirm what the person allows. `NOT_ASKED`: none was sent, because they received one a short
 * time ago. `SAVED`: there was nothing to ask.
 */
export type TrackingResult = 'ASKED' | 'NOT_ASKED' | 'SAVED'

/**
 * Denies at once what the person does not allow, also for emails that were sent before. What they allow counts once they
 * use the link in an email, because people forward emails. Throws `invalid_token` if the contact has another address now.
 */
export async function chooseTracking(
  base: BaseCtx,
  { token, allowed, wording, locale }: TrackingWish,
): Promise<TrackingResult> {
  const sourceOf = (actions: readonly TrackedAction[]) => ({
    method: 'PREFERENCES_PAGE' as const,
    opens: actions.includes('opens'),
    clicks: actions.includes('clicks'),
    wording: actions.map((action) => wording[action]),
  })
  const denied = trackedActions.filter((action) => !allowed.includes(action))
  let result: TrackingResult = 'SAVED'
  // Apart, so that a denial counts also if the email cannot be sent.
  await withLockedHolder(base, token, async (ctx, { contact, isCurrent }) => {
    if (!contact || !isCurrent) throw invalidToken()
    if (denied.length > 0) await denyByContact(ctx, contact, sourceOf(denied))
  })
  await withLockedHolder(base, token, async (ctx, { contact, isCurrent }) => {
    if (!contact || !isCurrent) return
    const choices = await readTrackingChoices(ctx, contact)
    if (allowed.every((action) => choices[action] === 'GRANTED')) return
    await requireNotSuspended(ctx)
    result = (await requestGrant(ctx, contact, { source: sourceOf(allowed), locale })) ? 'ASKED' : 'NOT_ASKED'
  })
  return result
}
