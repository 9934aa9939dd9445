import { z } from 'zod'
import { trackingChoices, trackingMethods } from '../../db/schema/index.ts'
import { defineEvent } from '../../events/event-definition.ts'
import { RecordId } from '../../kernel/ids.ts'
import { MultiLine } from '../../kernel/validation.ts'
import { Timestamp } from '../../kernel/values/timestamps.ts'

const shownChoices = [...trackingChoices, 'UNKNOWN'] as const
const choice = z.enum(shownChoices)

export const TrackingConsent = z
  .object({
    contactId: RecordId('con'),
    opens: choice.describe(
      'Whether opens may be recorded as those of the contact. `UNKNOWN`: the contact has not said anything, so `trackingWithoutConsent` of the workspace applies.',
    ),
    clicks: choice.describe('The same for clicks on links.'),
    updatedAt: Timestamp.nullable().describe('When the choice last changed. `null` if the contact never chose.'),
  })
  .meta({
    id: 'TrackingConsent',
    description: 'What a contact chose about the tracking of opens and clicks.',
    examples: [
      {
        contactId: 'con_01kag7m3v9e8fs2t4w6x8y0z1b',
        opens: 'GRANTED',
        clicks: 'DENIED',
        updatedAt: '2026-11-21T06:35:49.123Z',
      },
    ],
  })
export type TrackingConsent = z.output<typeof TrackingConsent>

const TrackingProof = z
  .object({
    choice: choice.describe('What was chosen. `UNKNOWN`: a grant ended, because the contact has another address.'),
    opens: z.boolean().describe('Whether the choice is about opens.'),
    clicks: z.boolean().describe('Whether the choice is about clicks.'),
    method: z
      .enum(trackingMethods)
      .describe(
        '`FORM`: a form; `PREFERENCES_PAGE`: the page that emails link to; `OPERATOR`: a user or API key reported a denial; `ADDRESS_CHANGED`: the contact has another address, whose denial applies, or was merged with one that had denied; a grant for the former address ends.',
      ),
    at: Timestamp.describe('When the contact chose.'),
    email: z.string().describe('The email address of the contact at that time.'),
    address: z.string().nullable().describe('The IP address of the contact. `null` if the choice was reported.'),
    formId: RecordId('frm').nullable().describe('The form. `null` for other methods.'),
    wording: z.array(z.string()).describe('The texts that the contact agreed to.'),
    actorId: z
      .string()
      .nullable()
      .describe('The id of the user or API key that reported the choice. `null` if the contact chose.'),
    note: z.string().nullable().describe('What the contact said, by `OPERATOR`. `null` for other methods.'),
    confirmedAt: Timestamp.nullable().describe(
      'When the contact used the link in the email that confirms a grant. `null` before, when the grant does not count yet, and for other choices.',
    ),
    confirmedFrom: z.string().nullable().describe('The IP address from which the link was used. `null` if it was not.'),
  })
  .meta({ id: 'TrackingProof', description: 'The proof of a choice about tracking.' })

export const TrackingConsentWithProofs = TrackingConsent.extend({
  proofs: z.array(TrackingProof).describe('The proof of each choice, newest first.'),
}).meta({ id: 'TrackingConsentWithProofs', description: 'The choice of a contact about tracking, with its proofs.' })
export type TrackingConsentWithProofs = z.output<typeof TrackingConsentWithProofs>

const given = z.enum(trackingChoices, `must be ${trackingChoices.join(' or ')}`).optional()

export const TrackingConsentInput = z
  .strictObject({
    opens: given.describe(
      '`DENIED`: nothing is recorded of opens. `GRANTED` is refused: only the contact can grant. Default: unchanged.',
    ),
    clicks: given.describe('The same for clicks on links. Default: unchanged.'),
    note: MultiLine(1_000).optional().describe('What the person said, and how. The proof keeps it.'),
  })
  .refine(({ opens, clicks }) => opens !== undefined || clicks !== undefined, {
    error: 'must have opens or clicks',
  })
  .meta({
    id: 'TrackingConsentUpdate',
    description: 'A denial that the person told you.',
    examples: [{ opens: 'DENIED', clicks: 'DENIED', note: 'Called on Monday: no tracking' }],
  })
export type TrackingConsentInput = z.output<typeof TrackingConsentInput>

export const trackingConsentChanged = defineEvent('tracking_consent.changed', TrackingConsent)
