import { z } from 'zod'
import { CustomValues, CustomValuesChange } from '../custom-fields/custom-fields.schema.ts'
import { collectCustomFields } from '../custom-fields/custom-value-filter.ts'
import type { companies } from '../db/schema/index.ts'
import { Id, RecordId } from '../kernel/ids.ts'
import { CreatedAt, EmptyAsNone, emptyToNull, SearchText, SingleLine, UpdatedAt } from '../kernel/validation.ts'
import { ExternalId } from '../kernel/values/external-id.ts'
import { Phone } from '../kernel/values/phone.ts'
import { Tags } from '../kernel/values/tags.ts'
import { isWebAddress } from '../kernel/web-address.ts'
import { PageQuery, Repeatable, Sort } from '../request/paging.ts'
import { timeRange } from '../request/time-range.ts'
import { DomainName } from '../domains/domain-name.ts'
import { CompanyDomain } from './company-domain.ts'

/** Columns that responses contain. A column missing from a schema below does not compile. */
type Shown = Exclude<keyof typeof companies.$inferSelect, 'workspaceId' | 'searchText'>
type Writable = Exclude<Shown, 'id' | 'createdAt' | 'updatedAt'>

export const Company = z
  .object({
    id: RecordId('cpy'),
    name: z.string().describe('The name of the company.'),
    domain: z
      .string()
      .nullable()
      .describe('The domain of the company, in ASCII and lower case, unique in the workspace. `null` for none.'),
    externalId: z
      .string()
      .nullable()
      .describe('The key of the company in your own product, unique in the workspace. `null` for none.'),
    ownerId: RecordId('usr')
      .nullable()
      .describe(
        'The member of the workspace who owns the company. `null` if there is none, or if that member has left.',
      ),
    phone: z.string().nullable().describe('The phone number. `null` if unknown.'),
    website: z.string().nullable().describe('The URL of the website. `null` if unknown.'),
    customFieldValues: CustomValues,
    tags: z.array(z.string()).describe('The tags.'),
    createdAt: CreatedAt,
    updatedAt: UpdatedAt,
  } satisfies Record<Shown, z.ZodType>)
  .meta({
    id: 'Company',
    description: 'A company that contacts and deals belong to. `domain` and `externalId` are unique.',
    examples: [
      {
        id: 'cpy_01kag7m3v9e8fs2t4w6x8y0z1b',
        name: 'Analytical Engines',
        domain: 'engines.example',
        externalId: 'org_1837',
        ownerId: null,
        phone: null,
        website: 'https://engines.example',
        customFieldValues: { tier: 'gold' },
        tags: ['customer'],
        createdAt: '2026-11-21T06:35:49.123Z',
        updatedAt: '2026-11-21T06:35:49.123Z',
      },
    ],
  })
export type Company = z.output<typeof Company>

const companyExamples = Company.meta()?.['examples'] as [Company]
export const companyExample = companyExamples[0]

const Website = SingleLine(2_048).refine(
  (text) => text === '' || isWebAddress(text),
  'must be a URL such as https://example.com',
)

const writable = {
  name: SingleLine(200, 1).describe('The name of the company.'),
  domain: CompanyDomain.nullable().describe(
    'The domain of the company, unique in the workspace. International domains become ASCII. A public mail host such as `gmail.com` is not allowed. `null` for none.',
  ),
  externalId: ExternalId.nullable().describe(
    'The key of the company in your own product, unique in the workspace, compared byte for byte. `null` for none.',
  ),
  ownerId: Id('usr').nullable().describe('The id of a user who is a member of the workspace. `null` for none.'),
  phone: emptyToNull(Phone).describe('The phone number. `null` or empty for none.'),
  website: emptyToNull(Website).describe('The URL of the website. `null` or empty for none.'),
  customFieldValues: CustomValuesChange.describe(
    'Values by the key of the custom field of companies. `null` removes a value. A company can have at most 16 KiB of values, as JSON.',
  ),
  tags: Tags.describe('The tags. Duplicates are removed.'),
} satisfies Record<Writable, z.ZodType>

export const CompanyChange = z
  .strictObject(writable)
  .partial()
  .meta({
    id: 'CompanyUpdate',
    description: 'The fields of the company to change. Omitted fields stay unchanged.',
    examples: [{ phone: '+44 20 7946 0000', customFieldValues: { tier: 'gold' } }],
  })
export type CompanyChange = z.output<typeof CompanyChange>

/** An omitted property is empty in a new company and unchanged in an existing one. */
export const CompanyInput = z
  .strictObject({
    ...writable,
    name: writable.name.describe('The name of the company. Required for a new company.'),
    domain: writable.domain.describe(
      'The domain of the company. `null` for none: it clears the domain of the company that has the external id.',
    ),
    externalId: writable.externalId.describe(
      'The key of the company in your own product. It is looked up before `domain`. `null` for none: it does not clear the external id of a company.',
    ),
  })
  .partial()
  .meta({
    id: 'CompanyUpsert',
    description:
      'The fields of the company to set. An omitted field is empty in a new company and unchanged in an existing one.',
    examples: [{ externalId: 'org_1837', name: 'Analytical Engines', domain: 'engines.example' }],
  })
export type CompanyInput = z.output<typeof CompanyInput>

/**
 * Input of a new company. Defaults are filled in, so that equivalent bodies have the same hash for `Idempotency-Key`.
 */
export const NewCompany = z
  .strictObject({
    name: writable.name,
    domain: writable.domain.default(null),
    externalId: writable.externalId.default(null),
    ownerId: writable.ownerId.default(null),
    phone: writable.phone.default(null),
    website: writable.website.default(null),
    customFieldValues: writable.customFieldValues.default({}),
    tags: writable.tags.default([]),
  } satisfies Record<Writable, z.ZodType>)
  .meta({
    id: 'CompanyCreate',
    description: 'A new company. Only `name` is required.',
    examples: [{ name: 'Analytical Engines', domain: 'engines.example' }],
  })
export type NewCompany = z.output<typeof NewCompany>

/** Without the parameters `customField.<key>`. */
export const CompanyParameters = PageQuery.extend({
  search: SearchText.describe('Part of the name, domain, phone or website; tolerates a typo.'),
  domain: SingleLine(500).pipe(DomainName).optional().describe('Only the company with this domain.'),
  externalId: ExternalId.optional().describe('Only the company with this external id.'),
  ownerId: Id('usr').optional().describe('Only companies that this user owns.'),
  tag: EmptyAsNone(Repeatable(SingleLine(100, 1))).describe(
    'Only companies with this tag. Repeatable: companies must have all of the tags.',
  ),
  ...timeRange('updated'),
  sort: Sort(['createdAt', 'updatedAt']),
})
export const CompanyQuery = collectCustomFields(CompanyParameters)
export type CompanyQuery = z.output<typeof CompanyQuery>
