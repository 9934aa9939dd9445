/** How the choice of a contact about tracking changes. Each function returns the state after the change. */
import { trackedActions, type TrackingProof, type trackingConsents } from '../../db/schema/index.ts'
import { isSameAddress } from '../../kernel/values/email-key.ts'
import type { TrackedAction } from './tracking-level.ts'
import { laterOf, type Timestamp, timestampAt } from '../../kernel/values/timestamps.ts'

export type TrackingState = Pick<
  typeof trackingConsents.$inferSelect,
  'opens' | 'clicks' | 'opensDeniedAt' | 'clicksDeniedAt' | 'proofs'
>

export const noTrackingState: TrackingState = {
  opens: null,
  clicks: null,
  opensDeniedAt: null,
  clicksDeniedAt: null,
  proofs: [],
}

const maxProofs = 20

const isRequest = (proof: TrackingProof) => proof.choice === 'GRANTED' && proof.confirmedAt === null

/** The grant that the contact has not confirmed yet. */
export const findRequest = ({ proofs }: Pick<TrackingState, 'proofs'>): TrackingProof | undefined =>
  proofs.find(isRequest)

export const actionsOf = (scope: Record<TrackedAction, boolean>): TrackedAction[] =>
  trackedActions.filter((action) => scope[action])

const scopeOf = (actions: readonly TrackedAction[]): Record<TrackedAction, boolean> => ({
  opens: actions.includes('opens'),
  clicks: actions.includes('clicks'),
})

/**
 * A denial counts at once and ends an open request that includes a denied action. Repeated, it changes nothing, unless
 * there is such a request: then it is stored as later than the link that was mailed for it.
 */
export function deny(current: TrackingState, proof: TrackingProof): TrackingState {
  const denied = actionsOf(proof)
  const isNew = denied.some((action) => current[action] !== 'DENIED')
  const isEnded = (one: TrackingProof) => isRequest(one) && denied.some((action) => one[action])
  if (!isNew && !current.proofs.some(isEnded)) return current
  const rest = current.proofs.filter((one) => !isEnded(one))
  return {
    ...current,
    ...setChoice(denied, 'DENIED', timestampAt(proof.at)),
    proofs: isNew ? [proof, ...rest].slice(0, maxProofs) : rest,
  }
}

/** Adds a grant that does not count until it is confirmed. It replaces another one. */
export function request(current: TrackingState, proof: TrackingProof): TrackingState {
  const rest = current.proofs.filter((one) => !isRequest(one))
  return { ...current, proofs: [proof, ...rest].slice(0, maxProofs) }
}

interface GrantingLink {
  scope: readonly TrackedAction[]
  issuedAt: Timestamp
  email: string
}

/** Whether a link would grant anything. */
export const wouldGrant = (current: TrackingState, link: GrantingLink): boolean =>
  confirm(current, link, { confirmedAt: null, confirmedFrom: null }) !== undefined

/**
 * Completes the open request, as far as the link names its actions and was mailed after the last denial of them. Returns
 * undefined if nothing is granted.
 */
export function confirm(
  current: TrackingState,
  link: GrantingLink,
  used: Pick<TrackingProof, 'confirmedAt' | 'confirmedFrom'>,
): { state: TrackingState; granted: TrackedAction[] } | undefined {
  const open = findRequest(current)
  if (!open || !isSameAddress(open.email, link.email)) return undefined
  const granted = actionsOf(open).filter((action) => {
    const deniedAt = current[`${action}DeniedAt`]
    return link.scope.includes(action) && (deniedAt === null || deniedAt < link.issuedAt)
  })
  if (granted.length === 0) return undefined
  const proof = { ...open, ...used, ...scopeOf(granted) }
  const proofs = current.proofs.map((one) => (one === open ? proof : one))
  return { state: { ...current, ...setChoice(granted, 'GRANTED'), proofs }, granted }
}

/** Ends what was granted for an address that the contact no longer has. A denial remains. */
export function endGrants(current: TrackingState, proof: TrackingProof): TrackingState {
  const ended = trackedActions.filter((action) => current[action] === 'GRANTED')
  if (ended.length === 0) return current
  const proofs = [{ ...proof, ...scopeOf(ended) }, ...current.proofs].slice(0, maxProofs)
  return { ...current, ...setChoice(ended, null), proofs }
}

/** The denials of a merged contact hold for the remaining one, and its grants do not. The proofs of both are kept. */
export function merge(remaining: TrackingState, merged: TrackingState): TrackingState {
  const denied = trackedActions.filter((action) => merged[action] === 'DENIED')
  const proofs = [...remaining.proofs, ...merged.proofs.filter((proof) => !isRequest(proof))]
  return {
    ...remaining,
    ...setChoice(denied, 'DENIED'),
    opensDeniedAt: laterOf(remaining.opensDeniedAt, merged.opensDeniedAt),
    clicksDeniedAt: laterOf(remaining.clicksDeniedAt, merged.clicksDeniedAt),
    proofs: proofs.toSorted((one, other) => other.at.localeCompare(one.at)).slice(0, maxProofs),
  }
}

function setChoice(
  actions: readonly TrackedAction[],
  choice: TrackingState['opens'],
  deniedAt?: Timestamp,
): Partial<TrackingState> {
  return Object.fromEntries(
    actions.flatMap((action) => [[action, choice], ...(deniedAt ? [[`${action}DeniedAt`, deniedAt]] : [])]),
  ) as Partial<TrackingState>
}
