import { z } from 'zod'
import { suppressionReasons, suppressionSources } from '../db/schema/index.ts'
import { EmailFilter } from '../contacts/listing/address-filters.ts'
import { Id, RecordId } from '../kernel/ids.ts'
import { CreatedAt, Email, MultiLine } from '../kernel/validation.ts'
import { Timestamp } from '../kernel/values/timestamps.ts'
import { PageQuery, Sort } from '../request/paging.ts'

const reason = z
  .enum(suppressionReasons)
  .describe(
    '`COMPLAINED`: the person reported an email as spam. `OPTED_OUT`: the person wants no email from the list, or from any. `BOUNCED`: the address accepts no email. `MANUAL`: blocked by a user.',
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
        'The contact that has the address, as far as known. `null` if none was seen there, or if it was deleted.',
      ),
    listId: RecordId('lst').nullable().describe('The list. `null`: every list, also those to come.'),
    reason,
    source,
    note: z.string().nullable().describe('A note of the users. `null` if there is none.'),
    firstSaidAt: Timestamp.describe('When it was first said. A file may report an earlier moment.'),
    saidAt: Timestamp.describe('When it was last said. A confirmation link from before is refused.'),
    createdAt: CreatedAt,
  })
  .meta({
    id: 'Suppression',
    description:
      'One statement against email to an address, for one list or for all; an address may have several. Emails that the person asks for are sent all the same. The address itself is not kept, only a keyed hash.',
    examples: [
      {
        id: 'sup_01kag7m3v9e8fs2t4w6x8y0z1b',
        contactId: 'con_01kag7m3v9e8fs2t4w6x8y0z1b',
        listId: null,
        reason: 'BOUNCED',
        source: 'MAIL_EVENT',
        note: null,
        firstSaidAt: '2026-11-21T06:35:49.123Z',
        saidAt: '2026-11-21T06:35:49.123Z',
        createdAt: '2026-11-21T06:35:49.123Z',
      },
    ],
  })
export type Suppression = z.output<typeof Suppression>

export const SuppressionInput = z
  .strictObject({
    email: Email.describe('The address. Its contact, if there is one, is unsubscribed from every list at once.'),
    listId: Id('lst')
      .optional()
      .describe('The list that the person left, with `OPTED_OUT`. Default: every list, also those to come.'),
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
  })
  .meta({
    id: 'SuppressionLiftRequest',
    description: 'Why a suppression is lifted.',
    examples: [{ note: 'The mailbox works again' }],
  })
export type SuppressionLift = z.output<typeof SuppressionLift>

export const SuppressionQuery = PageQuery.extend({
  listId: z
    .union([z.literal('any'), Id('lst')])
    .optional()
    .describe('Only suppressions of this list, or with `any` those of every list too. Default: those for all lists.'),
  contactId: Id('con').optional().describe('Only suppressions of the address that this contact has.'),
  reason: z.enum(suppressionReasons).optional().describe('Only suppressions with this reason.'),
  source: z.enum(suppressionSources).optional().describe('Only suppressions with this source.'),
  email: EmailFilter.optional().describe(
    'Only suppressions of this address. Needs the role MEMBER, and is recorded in the audit log.',
  ),
  sort: Sort(['createdAt']),
})
export type SuppressionQuery = z.output<typeof SuppressionQuery>
