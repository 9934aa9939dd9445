import { z } from 'zod'
import {
  CalendarDate,
  CalendarDateInput,
  CreatedAt,
  EmptyAsNone,
  EmptyAsNull,
  QueryBoolean,
  SearchText,
  SingleLine,
  UpdatedAt,
} from '../kernel/validation.ts'
import { Timestamp } from '../kernel/values/timestamps.ts'
import { Id, RecordId } from '../kernel/ids.ts'
import { PageQuery, Repeatable, Sort } from '../request/paging.ts'
import { timeRange } from '../request/time-range.ts'
import { CustomValues, CustomValuesChange } from '../custom-fields/custom-fields.schema.ts'
import { collectCustomFields } from '../custom-fields/custom-value-filter.ts'
import { dealStatuses } from '../db/schema/index.ts'

const valueDescription = "The value in the minor unit of the workspace's currency, such as cents."
const statusDescription = '`OPEN`, `WON` or `LOST`.'

export const Deal = z
  .object({
    id: RecordId('dea'),
    pipelineId: RecordId('pip'),
    stageId: RecordId('stg'),
    contactId: RecordId('con'),
    name: z.string().describe('The name of the deal. May be empty.'),
    valueCents: z.number().int().describe(valueDescription),
    status: z.enum(dealStatuses).describe(statusDescription),
    closedAt: Timestamp.nullable().describe('When the deal was won or lost. `null` while it is open.'),
    companyId: RecordId('cpy')
      .nullable()
      .describe('The company that the deal is with. `null` for none. With it, an open deal outlives its contact.'),
    ownerId: RecordId('usr')
      .nullable()
      .describe('The member of the workspace who owns the deal. `null` if there is none, or if that member has left.'),
    expectedCloseOn: CalendarDate.nullable().describe(
      'The date on which the deal is expected to close. `null` if unknown.',
    ),
    lostReason: z.string().nullable().describe('Why the deal was lost. `null` unless the status is `LOST`.'),
    customFieldValues: CustomValues,
    contactErasedAt: Timestamp.nullable().describe(
      'When the contact was erased. `contactId` finds no contact then. `null` while the contact exists.',
    ),
    createdAt: CreatedAt,
    updatedAt: UpdatedAt,
  })
  .meta({
    id: 'Deal',
    description: 'A possible sale to a contact. `closedAt` is when the deal was won or lost.',
    examples: [
      {
        id: 'dea_01kag7m3v9e8fs2t4w6x8y0z1b',
        pipelineId: 'pip_01kag7m3v9e8fs2t4w6x8y0z1b',
        stageId: 'stg_01kag7m3v9e8fs2t4w6x8y0z1b',
        contactId: 'con_01kag7m3v9e8fs2t4w6x8y0z1b',
        name: 'Difference engine',
        valueCents: 1_700_000,
        status: 'OPEN',
        closedAt: null,
        companyId: null,
        ownerId: null,
        expectedCloseOn: '2026-12-31',
        lostReason: null,
        customFieldValues: { plan: 'pro' },
        contactErasedAt: null,
        createdAt: '2026-11-21T06:35:49.123Z',
        updatedAt: '2026-11-21T06:35:49.123Z',
      },
    ],
  })
export type Deal = z.output<typeof Deal>

const dealExamples = Deal.meta()?.['examples'] as [Deal] | undefined

/** The `data` of `deal.stage_changed`: the deal and its previous stage. */
export const MovedDeal = z
  .object({ ...Deal.shape, previousPipelineId: RecordId('pip'), previousStageId: RecordId('stg') })
  .meta({
    id: 'MovedDeal',
    description: 'A deal after it has moved to another stage, with the pipeline and the stage that it was in before.',
    examples: [
      {
        ...dealExamples?.[0],
        previousPipelineId: 'pip_01kag7m3v9e8fs2t4w6x8y0z1b',
        previousStageId: 'stg_01kag7m3v9e8fs2t4w6x8y0z2c',
      },
    ],
  })
export type MovedDeal = z.output<typeof MovedDeal>

const valueMessage = `must be a whole number of cents from 0 to ${Number.MAX_SAFE_INTEGER}`

const writable = {
  pipelineId: Id('pip'),
  stageId: Id('stg'),
  contactId: Id('con'),
  name: SingleLine(200).describe('The name of the deal. May be empty.'),
  valueCents: z
    .number(valueMessage)
    // JSON numbers above 2^53-1 are inexact.
    .int({ error: valueMessage, abort: true })
    .min(0, valueMessage)
    .max(Number.MAX_SAFE_INTEGER, valueMessage)
    // Converts -0 to 0.
    .transform((cents) => cents + 0)
    .describe(valueDescription),
  companyId: Id('cpy').nullable().describe('The id of the company that the deal is with. `null` for none.'),
  ownerId: Id('usr').nullable().describe('The id of a user who is a member of the workspace. `null` for none.'),
  expectedCloseOn: EmptyAsNull(CalendarDateInput).describe(
    'The date on which the deal is expected to close. `null` or empty for none.',
  ),
  customFieldValues: CustomValuesChange.describe(
    'Values by the key of the custom field of deals. `null` removes a value. A deal can have at most 16 KiB of values, as JSON. An erasure of the contact removes those of type `TEXT`.',
  ),
}

export const DealInput = z
  .strictObject({
    ...writable,
    stageId: writable.stageId.optional().describe('The id of a stage of the pipeline. Default: its first stage.'),
    name: writable.name.default(''),
    valueCents: writable.valueCents.default(0),
    companyId: writable.companyId.default(null),
    ownerId: writable.ownerId.default(null),
    expectedCloseOn: writable.expectedCloseOn.default(null),
    customFieldValues: writable.customFieldValues.default({}),
  })
  .meta({
    id: 'DealCreate',
    description: 'A new deal.',
    examples: [
      {
        pipelineId: 'pip_01kag7m3v9e8fs2t4w6x8y0z1b',
        contactId: 'con_01kag7m3v9e8fs2t4w6x8y0z1b',
        name: 'Difference engine',
        valueCents: 1_700_000,
        expectedCloseOn: '2026-12-31',
      },
    ],
  })
export type DealInput = z.output<typeof DealInput>

export const DealChange = z
  .strictObject({
    ...writable,
    status: z
      .enum(dealStatuses)
      .describe('`WON` and `LOST` close the deal and set `closedAt`; `OPEN` reopens it and clears `closedAt`.'),
    lostReason: EmptyAsNull(SingleLine(200)).describe(
      'Why the deal was lost, such as `Price`. Only for a deal that is or becomes `LOST`; any other status clears it. ' +
        '`null` for no reason. It outlives the contact: do not name a person in it.',
    ),
  })
  .partial()
  .meta({
    id: 'DealUpdate',
    description: 'The fields of the deal to change. Omitted fields stay unchanged.',
    examples: [{ status: 'WON', valueCents: 1_750_000 }],
  })
export type DealChange = z.output<typeof DealChange>

const CentsParameter = z
  .string()
  .regex(/^\d{1,16}$/, valueMessage)
  .transform(Number)
  .refine(Number.isSafeInteger, valueMessage)

/** Without the parameters `customField.<key>`. */
export const DealParameters = PageQuery.extend({
  pipelineId: Id('pip').optional().describe('Only deals of this pipeline.'),
  stageId: Id('stg').optional().describe('Only deals in this stage.'),
  contactId: Id('con').optional().describe('Only deals of this contact.'),
  companyId: Id('cpy').optional().describe('Only deals with this company.'),
  contactErased: EmptyAsNone(QueryBoolean).describe(
    'With `true`, only deals whose contact was erased; with `false`, only the others.',
  ),
  ownerId: Id('usr').optional().describe('Only deals that this user owns.'),
  lostReason: EmptyAsNone(SingleLine(200, 1)).describe('Only deals that were lost for exactly this reason.'),
  status: Repeatable(z.enum(dealStatuses))
    .optional()
    .describe('Only deals with this status. Repeatable: deals with any of the statuses.'),
  search: SearchText.describe('Only deals with this part of the name, ignoring case and accents.'),
  valueCentsMin: CentsParameter.optional().describe('Only deals with at least this `valueCents`.'),
  valueCentsMax: CentsParameter.optional().describe('Only deals with at most this `valueCents`.'),
  ...timeRange('updated'),
  ...timeRange('closed'),
  ...timeRange('expectedClose'),
  sort: Sort(['createdAt', 'updatedAt', 'valueCents', 'closedAt']),
})
export const DealQuery = collectCustomFields(DealParameters)
export type DealQuery = z.output<typeof DealQuery>

const DealPosition = z.object({
  pipelineId: RecordId('pip'),
  stageId: RecordId('stg'),
  status: z.enum(dealStatuses).describe(statusDescription),
})

export const DealMove = z
  .object({
    id: RecordId('mov'),
    from: DealPosition.describe('Where the deal was before the change.'),
    to: DealPosition.describe('Where the deal was after the change.'),
    userId: RecordId('usr')
      .nullable()
      .describe('The user who made the change. `null` if an API key or the system made it.'),
    apiKeyId: RecordId('key')
      .nullable()
      .describe('The API key that made the change. `null` if a user or the system made it.'),
    createdAt: CreatedAt,
  })
  .meta({
    id: 'DealMove',
    description:
      'A change of the stage or status of a deal, and the user or API key that made it. Kept as long as the deal, even if the stage is deleted.',
    examples: [
      {
        id: 'mov_01kag7m3v9e8fs2t4w6x8y0z1b',
        from: {
          pipelineId: 'pip_01kag7m3v9e8fs2t4w6x8y0z1b',
          stageId: 'stg_01kag7m3v9e8fs2t4w6x8y0z1b',
          status: 'OPEN',
        },
        to: {
          pipelineId: 'pip_01kag7m3v9e8fs2t4w6x8y0z1b',
          stageId: 'stg_01kag7m3v9e8fs2t4w6x8y0z2c',
          status: 'OPEN',
        },
        userId: null,
        apiKeyId: 'key_01kag7m3v9e8fs2t4w6x8y0z1b',
        createdAt: '2026-11-21T06:35:49.123Z',
      },
    ],
  })
export type DealMove = z.output<typeof DealMove>

export const DealMoveQuery = PageQuery.extend({ sort: Sort(['createdAt']) })
export type DealMoveQuery = z.output<typeof DealMoveQuery>
