import { z } from 'zod'
import { noteKinds } from '../db/schema/index.ts'
import { Id, RecordId } from '../kernel/ids.ts'
import { CreatedAt, EmptyAsNone, MultiLine, TimestampInput, UpdatedAt } from '../kernel/validation.ts'
import { Timestamp } from '../kernel/values/timestamps.ts'
import { PageQuery, Sort } from '../request/paging.ts'
import { timeRange } from '../request/time-range.ts'

const kind = z.enum(noteKinds).describe('`NOTE`, `CALL` or `MEETING`.')

export const Note = z
  .object({
    id: RecordId('nte'),
    kind,
    body: z.string().describe('The text, as plain text.'),
    occurredAt: Timestamp.describe('When it happened.'),
    contactId: RecordId('con')
      .nullable()
      .describe('The contact that the note is about. `null` for none. The note is deleted with the contact.'),
    companyId: RecordId('cpy').nullable().describe('The company that the note is about. `null` for none.'),
    dealId: RecordId('dea').nullable().describe('The deal that the note is about. `null` for none.'),
    authorId: RecordId('usr')
      .nullable()
      .describe('The member who wrote the note, also after they left. `null` for an API key.'),
    apiKeyId: RecordId('key').nullable().describe('The API key that wrote the note. `null` for a member.'),
    createdAt: CreatedAt,
    updatedAt: UpdatedAt,
  })
  .meta({
    id: 'Note',
    description: 'A note, call or meeting about a contact, a company or a deal.',
    examples: [
      {
        id: 'nte_01kag7m3v9e8fs2t4w6x8y0z1b',
        kind: 'CALL',
        body: 'Asked for an offer for 25 seats.',
        occurredAt: '2026-11-21T06:30:00.000Z',
        contactId: 'con_01kag7m3v9e8fs2t4w6x8y0z1b',
        companyId: null,
        dealId: null,
        authorId: 'usr_01kag7m3v9e8fs2t4w6x8y0z1b',
        apiKeyId: null,
        createdAt: '2026-11-21T06:35:49.123Z',
        updatedAt: '2026-11-21T06:35:49.123Z',
      },
    ],
  })
export type Note = z.output<typeof Note>

const body = MultiLine(20_000, 1).describe('The text, as plain text, at most 16 KiB.')
/** Whether a note is about something. */
export const namesRecord = (note: Record<'contactId' | 'companyId' | 'dealId', string | null>): boolean =>
  note.contactId !== null || note.companyId !== null || note.dealId !== null
export const recordRequired = { path: ['contactId'], error: 'one of contactId, companyId and dealId is required' }

export const NoteInput = z
  .strictObject({
    kind: kind.default('NOTE'),
    body,
    occurredAt: EmptyAsNone(TimestampInput).describe('When it happened. Default: now.'),
    contactId: Id('con')
      .nullable()
      .default(null)
      .describe('The contact. Default, also for `null`: the contact of the deal, if there is one.'),
    companyId: Id('cpy').nullable().default(null).describe('The company. `null` for none.'),
    dealId: Id('dea').nullable().default(null).describe('The deal. `null` for none.'),
  })
  .refine(namesRecord, recordRequired)
  .meta({
    id: 'NoteCreate',
    description: 'A new note. It needs a contact, a company or a deal, and can have all of them.',
    examples: [
      {
        kind: 'CALL',
        body: 'Asked for an offer for 25 seats.',
        occurredAt: '2026-11-21T06:30:00Z',
        contactId: 'con_01kag7m3v9e8fs2t4w6x8y0z1b',
      },
    ],
  })
export type NoteInput = z.output<typeof NoteInput>

export const NoteChange = z
  .strictObject({ kind, body, occurredAt: TimestampInput.describe('When it happened.') })
  .partial()
  .meta({
    id: 'NoteUpdate',
    description:
      'The fields of the note to change. Omitted fields stay unchanged. What the note is about never changes.',
    examples: [{ body: 'Asked for an offer for 30 seats.' }],
  })
export type NoteChange = z.output<typeof NoteChange>

export const NoteQuery = PageQuery.extend({
  contactId: Id('con').optional().describe('Only notes about this contact.'),
  companyId: Id('cpy').optional().describe('Only notes about this company.'),
  dealId: Id('dea').optional().describe('Only notes about this deal.'),
  kind: z.enum(noteKinds).optional().describe('Only this kind.'),
  authorId: Id('usr').optional().describe('Only notes of this member.'),
  ...timeRange('occurred'),
  sort: Sort(['createdAt', 'occurredAt']),
})
export type NoteQuery = z.output<typeof NoteQuery>
