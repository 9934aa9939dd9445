import { z } from 'zod'
import { consentMethods, subscriptionStatuses } from '../db/schema/index.ts'
import { Id, RecordId } from '../kernel/ids.ts'
import { CreatedAt, MultiLine, OptionalObject } from '../kernel/validation.ts'
import { Timestamp } from '../kernel/values/timestamps.ts'

export const Subscription = z
  .object({
    contactId: RecordId('con'),
    listId: RecordId('lst'),
    status: z
      .enum(subscriptionStatuses)
      .describe('`PENDING` until the contact confirms. Only `CONFIRMED` subscribers receive campaigns.'),
    source: z
      .string()
      .nullable()
      .describe('Where the subscription comes from, such as `api` or `public`. `null` if unknown.'),
    confirmedAt: Timestamp.nullable().describe('When the contact confirmed. `null` before.'),
    unsubscribedAt: Timestamp.nullable().describe(
      'When the subscription ended: the moment of the opt-out, the complaint, the removal from the list or the block. A file can give an earlier one, and a repetition does not move it. `null` while the status is `PENDING`, `CONFIRMED` or `BOUNCED`.',
    ),
    createdAt: CreatedAt,
  })
  .meta({
    id: 'Subscription',
    description: 'The subscription of a contact to a list.',
    examples: [
      {
        contactId: 'con_01kag7m3v9e8fs2t4w6x8y0z1b',
        listId: 'lst_01kag7m3v9e8fs2t4w6x8y0z1b',
        status: 'CONFIRMED',
        source: 'public',
        confirmedAt: '2026-11-21T06:35:49.123Z',
        unsubscribedAt: null,
        createdAt: '2026-11-21T06:30:01.004Z',
      },
    ],
  })
export type Subscription = z.output<typeof Subscription>

const Consent = z
  .object({
    method: z
      .enum(consentMethods)
      .describe(
        '`FORM`: a form; `PUBLIC_SUBSCRIBE`: the public subscribe endpoint; `PREFERENCES_PAGE`: the page that emails link to; `API`, `IMPORT`: reported by a user or API key; `CONFIRMATION_LINK`: the link in an email that an older version sent; `UNDO_UNSUBSCRIBE`: the page after unsubscribing; `ADDRESS_CHANGED`: the consent for a former address, when the contact got this one. `OPERATOR` is no consent: the contact opted out, as a user or API key reported.',
      ),
    at: Timestamp.describe('When the consent was given or reported.'),
    email: z.string().describe('The email address that the consent covers.'),
    address: z
      .string()
      .nullable()
      .describe(
        'The IP address of the contact. `null` if a user or API key reported the consent, unless an imported file contains it.',
      ),
    formId: RecordId('frm').nullable().describe('The form. `null` for other methods.'),
    wording: z.array(z.string()).describe('The text of each consent field of the form that the contact accepted.'),
    importId: RecordId('imp').nullable().describe('The import. `null` for other methods.'),
    actorId: z
      .string()
      .nullable()
      .describe('The id of the user or API key that reported the consent. `null` if the contact gave it.'),
    doubleOptIn: z.boolean().describe('Whether the contact has to confirm by a link in an email.'),
    confirmedAt: Timestamp.nullable().describe(
      'When this consent confirmed the subscription. `null` while the contact has not used the link.',
    ),
    confirmedFrom: z
      .string()
      .nullable()
      .describe('The IP address from which the link was used. `null` if it was not used.'),
    formerEmailHash: z
      .string()
      .nullable()
      .describe(
        'The former address of the contact, by `ADDRESS_CHANGED`: a keyed hash, equal for equal addresses. `null` for other methods.',
      ),
    note: z.string().nullable().describe('What the contact said, by `OPERATOR`. `null` for other methods.'),
    claimed: z
      .boolean()
      .describe(
        'Whether the file of an import claims `address`, unless it is `null`, and `confirmedAt`, unless it equals `at`. Otherwise this installation recorded them.',
      ),
  })
  .meta({ id: 'Consent', description: 'The proof that a contact consented to a subscription.' })

export const SubscriptionWithConsents = Subscription.extend({
  consents: z
    .array(Consent)
    .describe(
      'The proof of each consent, newest first. Empty if the contact left the list without having been on it, or was only imported as `PENDING`.',
    ),
}).meta({
  id: 'SubscriptionWithConsents',
  description: 'A subscription with its proofs of consent. They are kept after the contact unsubscribes.',
})
export type SubscriptionWithConsents = z.output<typeof SubscriptionWithConsents>

export const OptOutInput = OptionalObject({
  listId: Id('lst').optional().describe('The list that the person left. Default: all lists, also those to come.'),
  note: MultiLine(1_000).optional().describe('What the person said, and how. The proof of consent keeps it.'),
}).meta({
  id: 'OptOutCreate',
  description: 'An opt-out that the person told you, by telephone or letter.',
  examples: [{ note: 'Called on Monday: no more newsletters' }],
})
export type OptOutInput = z.output<typeof OptOutInput>

export const OptOutQuery = z.strictObject({
  listId: Id('lst').optional().describe('The list of the opt-out. Default: the opt-out from all lists.'),
})
export type OptOutQuery = z.output<typeof OptOutQuery>
