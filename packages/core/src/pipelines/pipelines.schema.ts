import { z } from 'zod'
import { CreatedAt, SingleLine, UpdatedAt } from '../kernel/validation.ts'
import { Id, RecordId } from '../kernel/ids.ts'
import { PageQuery, Sort } from '../request/paging.ts'
import { timeRange } from '../request/time-range.ts'

export const Stage = z
  .object({
    id: RecordId('stg'),
    name: z.string().describe('The name of the stage.'),
    position: z.number().int().meta({ description: 'The zero-based position in the pipeline.' }),
    winProbability: z
      .number()
      .int()
      .meta({ description: 'The probability of winning a deal in this stage, in percent: 0 to 100.' }),
  })
  .meta({ id: 'Stage', description: 'A stage of a pipeline.' })
export type Stage = z.output<typeof Stage>

export const Pipeline = z
  .object({
    id: RecordId('pip'),
    name: z.string().describe('The name of the pipeline.'),
    stages: z.array(Stage).describe('The stages in their order.'),
    createdAt: CreatedAt,
    updatedAt: UpdatedAt,
  })
  .meta({
    id: 'Pipeline',
    description: 'The ordered stages that deals pass through.',
    examples: [
      {
        id: 'pip_01kag7m3v9e8fs2t4w6x8y0z1b',
        name: 'Sales',
        stages: [{ id: 'stg_01kag7m3v9e8fs2t4w6x8y0z1b', name: 'Lead', position: 0, winProbability: 10 }],
        createdAt: '2026-11-21T06:35:49.123Z',
        updatedAt: '2026-11-21T06:35:49.123Z',
      },
    ],
  })
export type Pipeline = z.output<typeof Pipeline>

const stageFields = {
  name: SingleLine(200, 1).describe('The name of the stage.'),
  winProbability: z
    .number()
    .int('must be a whole number')
    .min(0, 'must be from 0 to 100')
    .max(100, 'must be from 0 to 100')
    .transform((probability) => probability + 0)
    .describe('The probability of winning a deal in this stage, in percent: 0 to 100. Default for a new stage: 0.'),
}

function Stages<Item extends z.ZodType>(item: Item) {
  return z.array(item).min(1, 'must not be empty').max(100, 'must have at most 100 stages')
}

const NewStage = z.strictObject({ ...stageFields, winProbability: stageFields.winProbability.default(0) })

export const PipelineInput = z
  .strictObject({
    name: SingleLine(200, 1).describe('The name of the pipeline.'),
    stages: Stages(NewStage).describe('The stages in their order.'),
  })
  .meta({
    id: 'PipelineCreate',
    description: 'A new pipeline with its stages.',
    examples: [{ name: 'Renewals', stages: [{ name: 'Due', winProbability: 70 }] }],
  })
export type PipelineInput = z.output<typeof PipelineInput>

/** With an `id`: an existing stage, which keeps the omitted fields. Without an `id`: a new stage. */
const StageChange = z
  .strictObject({ id: Id('stg'), ...stageFields })
  .partial()
  .refine((stage) => stage.id !== undefined || stage.name !== undefined, {
    path: ['name'],
    error: 'is required for a new stage',
  })
export type StageChange = z.output<typeof StageChange>

export const PipelineChange = z
  .strictObject({
    name: SingleLine(200, 1).describe('The name of the pipeline.'),
    stages: Stages(StageChange)
      .refine((stages) => areDifferent(stages.flatMap(({ id }) => id ?? [])), 'must not repeat a stage')
      .describe(
        'All stages in their new order: existing ones with their `id`, new ones without. Stages that are not listed are removed.',
      ),
  })
  .partial()
  .meta({
    id: 'PipelineUpdate',
    description: 'The fields of the pipeline to change. Omitted fields stay unchanged.',
    examples: [{ name: 'Renewals', stages: [{ name: 'Due', winProbability: 70 }] }],
  })
export type PipelineChange = z.output<typeof PipelineChange>

const areDifferent = (values: readonly string[]) => new Set(values).size === values.length

export const PipelineQuery = PageQuery.extend({ sort: Sort(['createdAt']) })
export type PipelineQuery = z.output<typeof PipelineQuery>

const cents = z.number().int().nullable()
const beyond = '`null` above 2^53-1, where a JSON number is inexact: use the field with the suffix `Exact`.'
const exact = z.string().meta({ description: 'The same value in decimal digits, always exact.' })

const sumsOf = (which: string) => ({
  count: z.number().int().describe(`The number of ${which} deals.`),
  valueCents: cents.meta({
    description: `The sum of the values of the ${which} deals, in the minor unit of the workspace's currency. ${beyond}`,
  }),
  valueCentsExact: exact,
})
const sums = sumsOf('OPEN')

export const PipelineSummaryQuery = z.strictObject({
  ownerId: Id('usr').optional().describe('Only deals that this user owns.'),
  companyId: Id('cpy').optional().describe('Only deals with this company.'),
  ...timeRange('closed'),
  ...timeRange('expectedClose'),
})
export type PipelineSummaryQuery = z.output<typeof PipelineSummaryQuery>

/** More than the stages of a pipeline. */
export const maxLostReasons = 100

export const PipelineSummary = z
  .object({
    pipelineId: RecordId('pip'),
    stages: z.array(z.object({ stageId: RecordId('stg'), ...sums })).describe('One entry per stage, in their order.'),
    total: z
      .object({
        ...sums,
        weightedValueCents: cents.meta({
          description: `The sum of all values weighted by the \`winProbability\` of their stages, rounded to whole cents. ${beyond}`,
        }),
        weightedValueCentsExact: exact,
      })
      .describe('All stages together.'),
    won: z.object(sumsOf('WON')).describe('The WON deals.'),
    lost: z.object(sumsOf('LOST')).describe('The LOST deals.'),
    lostReasons: z
      .array(
        z.object({
          lostReason: z.string().nullable().describe('The reason. `null` for deals that were lost without one.'),
          ...sumsOf('LOST'),
        }),
      )
      .describe(`The LOST deals by reason, the most frequent first: at most ${maxLostReasons} reasons.`),
  })
  .meta({
    id: 'PipelineSummary',
    description:
      'The deals of a pipeline at one point in time: the OPEN ones per stage and in total, and the WON and LOST ones.',
    examples: [
      {
        pipelineId: 'pip_01kag7m3v9e8fs2t4w6x8y0z1b',
        stages: [
          { stageId: 'stg_01kag7m3v9e8fs2t4w6x8y0z1b', count: 3, valueCents: 450_000, valueCentsExact: '450000' },
        ],
        total: {
          count: 3,
          valueCents: 450_000,
          valueCentsExact: '450000',
          weightedValueCents: 45_000,
          weightedValueCentsExact: '45000',
        },
        won: { count: 2, valueCents: 300_000, valueCentsExact: '300000' },
        lost: { count: 1, valueCents: 80_000, valueCentsExact: '80000' },
        lostReasons: [{ lostReason: 'Price', count: 1, valueCents: 80_000, valueCentsExact: '80000' }],
      },
    ],
  })
export type PipelineSummary = z.output<typeof PipelineSummary>
