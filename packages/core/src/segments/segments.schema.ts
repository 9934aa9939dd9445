import { z } from 'zod'
import { RecordId } from '../kernel/ids.ts'
import { CreatedAt, SearchText, SingleLine, UpdatedAt } from '../kernel/validation.ts'
import { PageQuery, Sort } from '../request/paging.ts'
import { ContactFilter, type Filter, FilterNode } from './filter.schema.ts'

export const Segment = z
  .object({
    id: RecordId('seg'),
    name: z.string().describe('The name of the segment.'),
    filter: FilterNode.describe('The filter that a contact must match.'),
    createdAt: CreatedAt,
    updatedAt: UpdatedAt,
  })
  .meta({
    id: 'Segment',
    description: 'A saved filter over contacts. It is evaluated when it is used, so it is never out of date.',
    examples: [
      {
        id: 'seg_01kag7m3v9e8fs2t4w6x8y0z1b',
        name: 'Pro customers who have not opened anything for a month',
        filter: {
          all: [
            { field: 'customFieldValues.plan', eq: 'pro' },
            { not: { campaign: 'any', did: 'open', within: '30d' } },
          ],
        },
        createdAt: '2026-11-21T06:35:49.123Z',
        updatedAt: '2026-11-21T06:35:49.123Z',
      },
    ],
  })
export type Segment = z.output<typeof Segment>

const writable = {
  name: SingleLine(200, 1).describe('The name of the segment.'),
  filter: ContactFilter.describe('The filter that a contact must match, at most 64 KiB.'),
}
const exampleFilter: Filter = { field: 'customFieldValues.plan', eq: 'pro' }

export const SegmentInput = z.strictObject(writable).meta({
  id: 'SegmentCreate',
  description: 'A new segment.',
  examples: [{ name: 'Pro customers', filter: exampleFilter }],
})
export type SegmentInput = z.output<typeof SegmentInput>

export const SegmentChange = z
  .strictObject(writable)
  .partial()
  .meta({
    id: 'SegmentUpdate',
    description: 'The fields of the segment to change. Omitted fields stay unchanged.',
    examples: [{ name: 'Pro customers' }],
  })
export type SegmentChange = z.output<typeof SegmentChange>

export const SegmentQuery = PageQuery.extend({
  search: SearchText.describe('Only segments with this part of the name, ignoring case and accents.'),
  sort: Sort(['createdAt']),
})
export type SegmentQuery = z.output<typeof SegmentQuery>

export const PreviewInput = z
  .strictObject({ filter: ContactFilter.describe('The filter to try.') })
  .meta({ id: 'SegmentPreviewRequest', description: 'The filter to try.', examples: [{ filter: exampleFilter }] })
export type PreviewInput = z.output<typeof PreviewInput>
