/**
 * The proof of consent of a subscription. It is stored in the statement that requests or confirms the subscription, and
 * kept when the subscription ends, because it proves that earlier emails were lawful.
 */
import { type SQL, sql, type SQLWrapper } from 'drizzle-orm'
import { type Consent, subscriptions } from '../db/schema/index.ts'
import type { FormId, ImportId } from '../kernel/ids.ts'
import { type Ctx, getActorId } from '../request/context.ts'

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
  at?: Date | undefined
  address?: string | undefined
}

const maxConsents = 20
const reportedMethods: readonly Consent['method'][] = ['API', 'IMPORT', 'ADDRESS_CHANGED']

/** A consent that confirms a subscription now, without a link in an email. */
export function givenConsent(ctx: Ctx, email: string, source: ConsentSource): Consent {
  const consent = requestedConsent(ctx, email, source)
  const { at, address } = source.reported ?? {}
  return {
    ...consent,
    doubleOptIn: false,
    confirmedAt: at?.toISOString() ?? consent.at,
    ...((at || address) && { address: address ?? consent.address, claimed: true }),
  }
}

/** A consent that is complete when the contact uses the link in the confirmation email. */
export function requestedConsent(ctx: Ctx, email: string, source: ConsentSource): Consent {
  return {
    method: source.method,
    at: new Date().toISOString(),
    email,
    address: reportedMethods.includes(source.method) ? null : addressOf(ctx),
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
 * The column `consent` with one more consent, which replaces a request that was not confirmed. Opt-outs that an operator
 * reported are kept.
 */
export function withConsent(added: SQLWrapper, column: SQLWrapper = subscriptions.consent): SQL {
  return sql`jsonb_path_query_array(
    ${added} || jsonb_path_query_array(coalesce(${column}, '[]'), '$[*] ? (@.confirmedAt != null || @.method == "OPERATOR")'),
    ${sql.raw(`'$[0 to ${maxConsents - 1}]'`)})`
}

/** A new value of the column `consent`. */
export const consentValue = (consent: Consent) => sql`${JSON.stringify([consent])}::jsonb`

/**
 * The column `consent` after the contact has used the link in an email. The link completes the last request. A request
 * that was made before proofs were stored has none: then the link is the only proof.
 */
export function withConfirmation(ctx: Ctx, email: string): SQL {
  const link = requestedConsent(ctx, email, { method: 'CONFIRMATION_LINK' })
  const completed = { confirmedAt: link.at, confirmedFrom: link.address }
  const { consent } = subscriptions
  return sql`case when ${consent} -> 0 -> 'confirmedAt' = 'null' and ${consent} #>> '{0,method}' <> 'OPERATOR'
    then jsonb_set(${consent}, '{0}', ${consent} -> 0 || ${JSON.stringify(completed)}::jsonb)
    else ${withConsent(consentValue({ ...link, ...completed }))} end`
}

function addressOf({ address }: Ctx): string | null {
  return address?.slice(0, 100) ?? null
}
