/**
 * The proof of consent of a subscription. It is stored in the statement that requests or confirms the subscription, and
 * kept when the subscription ends, because it proves that earlier emails were lawful.
 */
import type { Consent } from '../db/schema/index.ts'
import type { FormId, ImportId, SuppressionId } from '../kernel/ids.ts'
import { isSameAddress } from '../kernel/values/email-key.ts'
import { clientAddressOf, type Ctx, getActorId } from '../request/context.ts'
import { type Timestamp, timestampNow } from '../kernel/values/timestamps.ts'

/** How a contact consents. `API`, `IMPORT` and `ADDRESS_CHANGED`: a user or API key reports it. */
export interface ConsentSource {
  method: Consent['method']
  formId?: FormId
  wording?: string[]
  importId?: ImportId
  formerEmailHash?: string
  /** Default: the actor of the request. */
  actorId?: string | null
  /** The moment in the link that completes it. */
  issuedAt?: Timestamp
  reported?: ReportedConsent | undefined
}

/** When and from which address the contact consented elsewhere, as the file of an import says. */
export interface ReportedConsent {
  at?: Timestamp | undefined
  address?: string | undefined
}

/** How many proofs a subscription keeps, and how many requests: anybody can make those, and they push out no proof. */
const maxProofs = 20
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
    ...(source.issuedAt !== undefined && { issuedAt: source.issuedAt }),
  }
}

/**
 * Proofs with one more. A request replaces one with the same link, because its email still waited. A consent that is
 * complete ends all requests. Opt-outs that an operator reported are kept.
 */
export function withProof(proofs: readonly Consent[] | null, added: Consent): Consent[] {
  const isKept = (proof: Consent) =>
    !isOpenRequest(proof) || (isOpenRequest(added) && proof.issuedAt !== added.issuedAt)
  return limitProofs([added, ...(proofs ?? []).filter(isKept)])
}

/** The latest proofs, and the latest requests, in their order. */
export function limitProofs(proofs: readonly Consent[]): Consent[] {
  const [requests, others] = [proofs.filter(isOpenRequest), proofs.filter((proof) => !isOpenRequest(proof))]
  const kept = new Set([requests, others].flatMap((some) => some.slice(0, maxProofs)))
  return proofs.filter((proof) => kept.has(proof))
}

/**
 * The proofs of two subscriptions that become one, the latest first. Open requests stay first, and those of the other
 * contact go, as their links are for an address that is gone.
 */
export function mergeProofs(kept: readonly Consent[] | null, other: readonly Consent[] | null): Consent[] | null {
  const open = (kept ?? []).filter(isOpenRequest)
  const closed = [...(kept ?? []), ...(other ?? [])].filter((proof) => !isOpenRequest(proof))
  const proofs = [...open, ...closed.toSorted((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0))]
  return proofs.length > 0 ? limitProofs(proofs) : null
}

/** Whether a proof is a request that its link has not confirmed. */
const isOpenRequest = ({ confirmedAt, method }: Consent) => confirmedAt === null && method !== 'OPERATOR'

/**
 * Proofs after the contact has used the link in an email. It completes the request that it was mailed for: another one may
 * be of another person, who knows the address. An older version stored no moment.
 */
export function withConfirmation(
  ctx: Ctx,
  proofs: readonly Consent[] | null,
  { email, issuedAt }: { email: string; issuedAt: Timestamp },
): Consent[] {
  const used = requestedConsent(ctx, email, { method: 'CONFIRMATION_LINK' })
  const open = (proofs ?? []).filter((proof) => isOpenRequest(proof) && isSameAddress(proof.email, email))
  const ofMoment = (moment?: Timestamp) => open.find((proof) => proof.issuedAt === moment)
  const { issuedAt: _, ...request } = ofMoment(issuedAt) ?? ofMoment() ?? used
  return withProof(proofs, { ...request, confirmedAt: used.at, confirmedFrom: used.address })
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
