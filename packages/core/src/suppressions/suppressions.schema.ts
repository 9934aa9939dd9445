import { z } from 'zod'
import { suppressionReasons, suppressionSources } from '../db/schema/index.ts'
import { EmailFilter } from '../contacts/listing/address-filters.ts'
import { RecordId } from '../kernel/ids.ts'
import { CreatedAt, Email, MultiLine, Timestamp } from '../kernel/validation.ts'
import { PageQuery, Sort } from '../request/paging.ts'

const reasons = z
  .enum(suppressionReasons)
  .describe(
    '`COMPLAINED`: the person reported an email as spam. `OPTED_OUT`: the person wants no email from any list. `BOUNCED`: the address accepts no email. `MANUAL`: blocked by a user.',
  )
const source = z
  .enum(suppressionSources)
  .describe(
    '`MAIL_EVENT`: a report of a mail server or provider. `LINK`: a link in an email. `API`: this API. `IMPORT`: a file.',
  )

export const Suppression = z
  .object({
    id: RecordId('sup'),
    contactId: RecordId('con')
      .nullable()
      .describe(
        'The contact that has the address. `null` if none had it when it was suppressed and none was imported with it since, or if it was deleted.',
      ),
    reason: reasons.meta({ description: 'The strictest of the reasons: in the order of this list.' }),
    reasons: z
      .array(z.object({ reason: reasons, source, createdAt: Timestamp.describe('When the reason arose.') }))
      .describe('All reasons, the strictest first. Each of them is lifted by itself.'),
    source: source.meta({ description: 'Where the strictest reason comes from.' }),
    note: z.string().nullable().describe('A note of the users. `null` if there is none.'),
    createdAt: CreatedAt,
  })
  .meta({
    id: 'Suppression',
    description:
      'An address to which the workspace sends no email, except a confirmation that the person asks for. The address itself is not kept, only a keyed hash.',
    examples: [
      {
        id: 'sup_01kag7m3v9e8fs2t4w6x8y0z1b',
        contactId: 'con_01kag7m3v9e8fs2t4w6x8y0z1b',
        reason: 'BOUNCED',
        reasons: [{ reason: 'BOUNCED', source: 'MAIL_EVENT', createdAt: '2026-11-21T06:35:49.123Z' }],
        source: 'MAIL_EVENT',
        note: null,
        createdAt: '2026-11-21T06:35:49.123Z',
      },
    ],
  })
export type Suppression = z.output<typeof Suppression>

export const SuppressionInput = z
  .strictObject({
    email: Email.describe('The address. Its contact, if there is one, is unsubscribed from every list at once.'),
    reason: z
      .enum(['MANUAL', 'OPTED_OUT', 'BOUNCED'])
      .describe(
        '`OPTED_OUT`: the person said so, and only they can revert it; an admin corrects a mistake within ten minutes with `DELETE /contacts/{id}/opt-out`. `BOUNCED` and `MANUAL` can be lifted by an admin. Report complaints with `POST /mail-events`.',
      ),
    note: MultiLine(1_000)
      .optional()
      .describe('A note for the users. It is deleted with the contact. Default: the former note.'),
  })
  .meta({
    id: 'SuppressionCreate',
    description: 'An address to suppress.',
    examples: [{ email: 'ada@example.com', reason: 'MANUAL', note: 'Test account' }],
  })
export type SuppressionInput = z.output<typeof SuppressionInput>

export const SuppressionLift = z
  .strictObject({
    note: MultiLine(1_000, 1).describe('Why it is lifted. The audit log keeps it.'),
    reason: z.enum(['BOUNCED', 'MANUAL']).optional().describe('The reason to lift. Default: both.'),
  })
  .meta({
    id: 'SuppressionLiftRequest',
    description: 'Why a suppression is lifted.',
    examples: [{ note: 'The mailbox works again' }],
  })
export type SuppressionLift = z.output<typeof SuppressionLift>

export const SuppressionQuery = PageQuery.extend({
  reason: z.enum(suppressionReasons).optional().describe('Only suppressions whose strictest reason this is.'),
  source: z.enum(suppressionSources).optional().describe('Only suppressions whose strictest reason has this source.'),
  email: EmailFilter.optional().describe(
    'Only the suppression of this address. Needs the role MEMBER, and is recorded in the audit log.',
  ),
  sort: Sort(['createdAt']),
})
export type SuppressionQuery = z.output<typeof SuppressionQuery>
