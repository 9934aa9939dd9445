import { z } from 'zod'
import { emailSubscribedStatuses } from '../../db/schema/index.ts'
import { Id } from '../../kernel/ids.ts'
import { EmptyAsNone, QueryBoolean, SearchText, SingleLine } from '../../kernel/validation.ts'
import { PageOf, PageQuery, Repeatable, Sort, SortBy } from '../../request/paging.ts'
import { collectCustomFields } from '../../custom-fields/custom-value-filter.ts'
import { timeRange } from '../../request/time-range.ts'
import { FilterParameter } from '../../segments/filter.schema.ts'
import { Contact, contactExample, sourceLength } from '../contacts.schema.ts'
import { ExternalId } from '../../kernel/values/external-id.ts'
import { EmailFilter } from './address-filters.ts'

export const contactFilterFields = {
  email: EmailFilter.optional().describe(
    'Only the contact with this email address, ignoring case. In a URL, a plus sign is `%2B`.',
  ),
  externalId: ExternalId.optional().describe(
    'Only the contact with this external id, or the contact into which a contact with this external id was merged.',
  ),
  search: SearchText.describe(
    'Part of a name, email, company or phone; tolerates a typo. Without `sort`, returns the best matches first, at most 1,000.',
  ),
  tag: EmptyAsNone(Repeatable(SingleLine(100, 1))).describe(
    'Only contacts with this tag. Repeatable: contacts must have all of the tags.',
  ),
  listId: Id('lst').optional().describe('Only contacts with a subscription to this list, in any status.'),
  companyId: Id('cpy').optional().describe('Only contacts of this company.'),
  emailSubscribedStatus: z.enum(emailSubscribedStatuses).optional().describe('Only contacts with this status.'),
  source: SingleLine(sourceLength).optional().describe('Only contacts from exactly this source.'),
  segmentId: Id('seg').optional().describe('Only contacts that match this segment.'),
  filter: FilterParameter.optional().describe(
    'Only contacts that match this filter: a `ContactFilter` as JSON, URL-encoded. See the guide on segments.',
  ),
  ...timeRange('created'),
  ...timeRange('updated'),
}

const sorts = ['createdAt', 'updatedAt', 'lastActivityAt', 'email'] as const

export const ContactFilters = collectCustomFields(z.object(contactFilterFields))
export type ContactFilters = z.output<typeof ContactFilters>

const listingParameters = {
  sort: SortBy(sorts)
    .optional()
    .describe(
      'The field to sort by. A leading minus sorts in descending order. Default: newest first; with `search`, best match first.',
    ),
  count: QueryBoolean.optional().describe(
    'Whether the response has `total`, the number of contacts that match the filters. Ask for it on the first page only: every page has the same.',
  ),
}

export const ContactQuery = collectCustomFields(
  z.object({ ...PageQuery.shape, ...contactFilterFields, ...listingParameters }),
)
export type ContactQuery = z.output<typeof ContactQuery>

export const SegmentContactQuery = PageQuery.extend(listingParameters)

export const CompanyContactQuery = PageQuery.extend({ sort: Sort(['createdAt']) })
export type CompanyContactQuery = z.output<typeof CompanyContactQuery>

export const CountedContactPage = z
  .object({
    ...PageOf(Contact).shape,
    total: z
      .number()
      .int()
      .optional()
      .describe('With `count=true`: the number of contacts that match the filters, on all pages together.'),
    isEstimate: z
      .boolean()
      .optional()
      .describe('With `count=true`: whether `total` is an estimate. Up to 10,000 contacts, it is exact.'),
  })
  .meta({ id: 'CountedContactPage', description: 'A page of contacts, with their number if it is asked for.' })

export const FilterPreview = z
  .object({
    count: z.number().int().describe('The number of contacts that match the filter.'),
    isEstimate: z.boolean().describe('Whether `count` is an estimate. Up to 10,000 contacts, it is exact.'),
    sample: z.array(Contact).describe('The newest of these contacts, at most 10.'),
    unseen: z
      .number()
      .int()
      .describe(
        'The number of contacts that the filter leaves out because it cannot see whether they opened or clicked: their emails were not tracked as those of a person. Exact up to 10,000.',
      ),
  })
  .meta({
    id: 'FilterPreview',
    description: 'The contacts that match a filter now.',
    examples: [{ count: 1, isEstimate: false, sample: [contactExample], unseen: 0 }],
  })
export type FilterPreview = z.output<typeof FilterPreview>

export const ExportQuery = collectCustomFields(
  z.object({
    ...contactFilterFields,
    format: z
      .enum(['csv', 'ndjson'], { error: 'must be csv or ndjson' })
      .default('csv')
      .describe('The format of the file.'),
    bom: QueryBoolean.default(false).describe(
      'Whether a CSV starts with a byte order mark, for spreadsheets: without it, Excel does not read it as UTF-8.',
    ),
  }),
)
export type ExportQuery = z.output<typeof ExportQuery>
