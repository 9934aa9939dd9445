/**
 * The proof of consent of a subscription. It is stored in the statement that requests or confirms the subscription, and
 * kept when the subscription ends, because it proves that earlier emails were lawful.
 */
import type { Consent } from '../db/schema/index.ts'
import type { FormId, ImportId, SuppressionId } from '../kernel/ids.ts'
import { clientAddressOf, type Ctx, getActorId } from '../request/context.ts'
import { type Timestamp, timestampNow } from '../kernel/validation.ts'

/** How a contact consents. `API`, `IMPORT` and `ADDRESS_CHANGED`: a user or API key reports it. */
export interface ConsentSource {
  method: Consent['method']
  formId?: FormId
  wording?: string[]
  importId?: ImportId
  formerEmailHash?: string
  /** Default: the actor of the request. */
  actorId?: string | null
  reported?: ReportedConsent | undefined
}

/** When and from which address the contact consented elsewhere, as the file of an import says. */
export interface ReportedConsent {
  at?: Timestamp | undefined
  address?: string | undefined
}

/** How many proofs a subscription keeps. */
export const maxProofs = 20
const reportedMethods: readonly Consent['method'][] = ['API', 'IMPORT', 'ADDRESS_CHANGED']

/** A consent that confirms a subscription now, without a link in an email. */
export function givenConsent(ctx: Ctx, email: string, source: ConsentSource): Consent {
  const consent = requestedConsent(ctx, email, source)
  const { at, address } = source.reported ?? {}
  return {
    ...consent,
    doubleOptIn: false,
    confirmedAt: at ?? consent.at,
    ...((at || address) && { address: address ?? consent.address, claimed: true }),
  }
}

/** A consent that is complete when the contact uses the link in the confirmation email. */
export function requestedConsent(ctx: Ctx, email: string, source: ConsentSource): Consent {
  return {
    method: source.method,
    at: timestampNow(),
    email,
    address: reportedMethods.includes(source.method) ? null : clientAddressOf(ctx),
    formId: source.formId ?? null,
    wording: source.wording ?? [],
    importId: source.importId ?? null,
    actorId: source.actorId === undefined ? getActorId(ctx.actor) : source.actorId,
    doubleOptIn: true,
    confirmedAt: null,
    confirmedFrom: null,
    ...(source.formerEmailHash !== undefined && { formerEmailHash: source.formerEmailHash }),
  }
}

/**
 * Proofs with one more, which replaces a request that was not confirmed. Opt-outs that an operator reported are kept.
 */
export function withProof(proofs: readonly Consent[] | null, added: Consent): Consent[] {
  const kept = (proofs ?? []).filter((proof) => !isOpenRequest(proof))
  return [added, ...kept].slice(0, maxProofs)
}

/**
 * The proofs of two subscriptions that become one, the latest first. An open request stays first, as the link completes
 * it, and that of the other contact goes, as its link is for an address that is gone.
 */
export function mergeProofs(kept: readonly Consent[] | null, other: readonly Consent[] | null): Consent[] | null {
  const open = (kept ?? []).slice(0, 1).filter(isOpenRequest)
  const closed = [...(kept ?? []), ...(other ?? [])].filter((proof) => !isOpenRequest(proof))
  const proofs = [...open, ...closed.toSorted((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0))]
  return proofs.length > 0 ? proofs.slice(0, maxProofs) : null
}

/** Whether a proof is a request that its link has not confirmed. */
const isOpenRequest = ({ confirmedAt, method }: Consent) => confirmedAt === null && method !== 'OPERATOR'

/** Proofs after the contact has used the link in an email, which completes the last request. */
export function withConfirmation(ctx: Ctx, email: string, proofs: readonly Consent[] | null): Consent[] {
  const link = requestedConsent(ctx, email, { method: 'CONFIRMATION_LINK' })
  const completed = { confirmedAt: link.at, confirmedFrom: link.address }
  const [last, ...earlier] = proofs ?? []
  if (last && isOpenRequest(last)) return [{ ...last, ...completed }, ...earlier]
  return withProof(proofs, { ...link, ...completed })
}

/** The proof of an opt-out that a user or API key reports. */
export function operatorProof(
  ctx: Ctx,
  {
    email,
    note,
    at,
    suppressionId,
  }: { email: string; note: string | null; at: Timestamp; suppressionId: SuppressionId },
): Consent {
  const proof = requestedConsent(ctx, email, { method: 'OPERATOR' })
  return { ...proof, at, address: null, doubleOptIn: false, note, suppressionId }
}
