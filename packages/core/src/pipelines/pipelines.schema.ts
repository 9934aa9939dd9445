import { z } from 'zod'
import { Timestamp } from '../fields.ts'
import { PageQuery, Sort } from '../paging.ts'

export const Stage = z
  .object({
    id: z.string(),
    name: z.string(),
    position: z.number().int().meta({ description: 'From 0, in the order a deal passes them' }),
    winProbability: z.number().int().meta({ description: 'Per cent, 0 to 100' }),
  })
  .meta({ id: 'Stage' })

export const Pipeline = z
  .object({
    id: z.string(),
    name: z.string(),
    stages: z.array(Stage),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'Pipeline', description: 'The ordered stages that deals pass through.' })
export type Pipeline = z.output<typeof Pipeline>

export const PipelineQuery = PageQuery.extend({ sort: Sort(['createdAt']) })
export type PipelineQuery = z.output<typeof PipelineQuery>
