/** What a visitor consents to by a form: the subscription to its list, and the tracking of opens and clicks. */
import type { AddressedContact } from '../consent/consent-records.ts'
import type { FormField, forms } from '../db/schema/index.ts'
import type { ListId } from '../kernel/ids.ts'
import { lockList } from '../lists/lists.ts'
import { requestSubscription } from '../lists/subscribe.ts'
import type { Ctx } from '../request/context.ts'
import { readGrantScope, requestGrant, storeTrackingRequest } from '../consent/tracking/grant-tracking.ts'
import type { ChoiceSource } from '../consent/tracking/tracking-consents.ts'

type FormRow = typeof forms.$inferSelect

export const isSubscriptionConsent = ({ type, purpose }: FormField) => type === 'CONSENT' && purpose === undefined

/** Whether the visitor gave every consent to the list of the form. */
export const isSignUp = ({ listId, fields }: FormRow, given: ReadonlySet<string>): boolean =>
  listId !== null && fields.filter(isSubscriptionConsent).every(({ id }) => given.has(id))

interface Request {
  contact: AddressedContact
  source: string
  /** Of the page of the form. */
  locale: string | null
  /** The ids of the fields with a consent. */
  given: ReadonlySet<string>
}

/**
 * Subscribes a locked contact to the list of the form if it gave every consent to that, and asks it to confirm a grant of
 * tracking: by the confirmation email of the subscription if there is one, otherwise by an email of its own.
 */
export async function followConsents(
  ctx: Ctx,
  form: FormRow,
  { contact, source, locale, given }: Request,
): Promise<void> {
  const grant = toGrant(form, given)
  const tracking = grant ? await readGrantScope(ctx, contact, grant) : []
  // A submission succeeds even if the list was deleted or closed in the meantime.
  const list = form.listId === null ? undefined : await lockList(ctx, form.listId)
  const isAsked =
    list?.publicSignup === 'OPEN' &&
    (await subscribe(ctx, form, { listId: list.id, contact, source, locale, given, tracking }))
  if (!grant || tracking.length === 0) return
  if (isAsked) await storeTrackingRequest(ctx, contact, grant)
  else await requestGrant(ctx, contact, { source: grant, locale })
}

interface Subscribing extends Request {
  listId: ListId
  tracking: ChoiceTracking
}
type ChoiceTracking = Awaited<ReturnType<typeof readGrantScope>>

/** Returns whether an email asks the contact to confirm the subscription, and the grant with it. */
async function subscribe(ctx: Ctx, form: FormRow, { given, ...request }: Subscribing): Promise<boolean> {
  if (!isSignUp(form, given)) return false
  const fields = form.fields.filter(isSubscriptionConsent)
  const consent = { method: 'FORM', formId: form.id, wording: fields.map(({ label }) => label) } as const
  return requestSubscription(ctx, { ...request, consent })
}

function toGrant(form: FormRow, given: ReadonlySet<string>): ChoiceSource | undefined {
  const field = form.fields.find(({ id, purpose }) => purpose === 'TRACKING' && given.has(id))
  return field && { method: 'FORM', opens: true, clicks: true, formId: form.id, wording: [field.label] }
}
