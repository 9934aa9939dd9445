/** The filter language: a question about contacts, as JSON. `compile-filter.ts` gives each part its meaning. */
import { z } from 'zod'
import { dealStatuses, subscriptionStatuses } from '../db/schema/index.ts'
import { Id } from '../kernel/ids.ts'
import { findRepeatedKey } from '../kernel/repeated-key.ts'
import { isExactNumber } from '../kernel/values/exact-number.ts'
import { normalizeMoment } from '../kernel/values/iso-moment.ts'
import { MultiLine, normalizeText, SingleLine, TimestampInput, Verbatim } from '../kernel/validation.ts'

const maxDepth = 4
const maxLeaves = 30

const Text = MultiLine(2_000, 1)
/** As it was written: an external id is compared byte for byte, and everything else as `normalizeText` returns it. */
const ExactText = Verbatim(2_000)
  .min(1, 'must not be empty')
  .refine((text) => normalizeText(text) !== '', 'must not be empty')
const Num = z.number('must be a number').refine(isExactNumber, 'cannot be compared exactly: it is beyond 2^53')
const Cents = Num.int('must be a whole number of cents')

/** Kept as text, so that the filter is stored as it was written, in a form that `Date` reads. */
const Moment = z
  .string()
  .overwrite(normalizeMoment)
  .superRefine((text, check) => {
    const message = TimestampInput.safeParse(text).error?.issues[0]?.message
    if (message !== undefined) check.addIssue({ code: 'custom', message })
  })

const Period = z
  .string()
  .regex(/^[1-9]\d{0,3}[hdw]$/, 'must be a period such as 12h, 30d or 4w')
  .meta({ examples: ['30d'] })

const comparisonsOf = (value: z.ZodNumber) => ({
  eq: value.optional().describe('Equal.'),
  ne: value.optional().describe('Not equal.'),
  lt: value.optional().describe('Less than.'),
  lte: value.optional().describe('Less than or equal.'),
  gt: value.optional().describe('Greater than.'),
  gte: value.optional().describe('Greater than or equal.'),
})
export type Comparison = keyof ReturnType<typeof comparisonsOf>

const Scalar = z.union([ExactText, Num, z.boolean()], 'must be a text, a number, true or false')

const operators = {
  ...comparisonsOf(Num),
  eq: Scalar.optional().describe('Equal. For `email`, ignoring case.'),
  ne: Scalar.optional().describe('Not equal, or without a value.'),
  contains: Text.optional().describe('Contains the text, ignoring case and accents.'),
  startsWith: Text.optional().describe('Starts with the text, ignoring case and accents.'),
  in: z
    .array(ExactText)
    .min(1, 'must not be empty')
    .max(100, 'must have at most 100 values')
    .optional()
    .describe('Equal to one of the texts.'),
  before: Moment.optional().describe('Before this timestamp or date.'),
  after: Moment.optional().describe('At or after this timestamp or date.'),
  within: Period.optional().describe('In the last hours, days or weeks, such as `30d`.'),
  notWithin: Period.optional().describe('Not in the last hours, days or weeks, or without a value.'),
  isSet: z.boolean('must be true or false').optional().describe('Whether there is a value.'),
}
export type Operator = keyof typeof operators
const operatorNames = Object.keys(operators) as Operator[]

const noOperator = `must have an operator: one of ${operatorNames.join(', ')}`
const hasOperator = (leaf: object) => operatorNames.some((name) => name in leaf)

const FieldLeaf = z
  .strictObject({
    field: SingleLine(120, 1).describe(
      'A field of the contact: `email`, `externalId`, `firstName`, `lastName`, `phone`, `company`, `source`, `locale`, `emailSubscribedStatus`, `lastActivityAt`, `createdAt`, `updatedAt`, or `customFieldValues.<key>`.',
    ),
    ...operators,
  })
  .refine(hasOperator, { error: noOperator })
  .meta({
    id: 'FilterByField',
    description:
      'Contacts by a field. Several operators must all be true. The operators depend on the type of the field.',
    examples: [{ field: 'company', eq: 'Acme' }],
  })

const TagsCondition = z
  .strictObject({
    has: SingleLine(100, 1).optional().describe('Has this tag.'),
    hasAny: z
      .array(SingleLine(100, 1))
      .min(1, 'must not be empty')
      .max(100, 'must have at most 100 tags')
      .optional()
      .describe('Has at least one of these tags.'),
  })
  .refine((tags) => Object.keys(tags).length > 0, { error: 'must have an operator: has or hasAny' })

const TagsLeaf = z
  .strictObject({ tags: TagsCondition.describe('The condition on the tags.') })
  .meta({ id: 'FilterByTags', description: 'Contacts by their tags.', examples: [{ tags: { has: 'vip' } }] })

const ListLeaf = z
  .strictObject({
    list: Id('lst').describe('The id of the list.'),
    status: z.enum(subscriptionStatuses).optional().describe('The status of the subscription. Default: any status.'),
  })
  .meta({
    id: 'FilterByList',
    description: 'Contacts with a subscription to a list.',
    examples: [{ list: 'lst_01kag7m3v9e8fs2t4w6x8y0z1b', status: 'CONFIRMED' }],
  })

const CampaignLeaf = z
  .strictObject({
    campaign: z.union([z.literal('any'), Id('cmp')], 'Campaign not found').describe('The id of a campaign, or `any`.'),
    did: z
      .enum(['receive', 'open', 'click'])
      .describe(
        'What the contact did. Only opens and clicks that were recorded as those of the contact count: see `not`.',
      ),
    within: Period.optional().describe('Only in the last hours, days or weeks, such as `30d`.'),
  })
  .meta({
    id: 'FilterByCampaign',
    description: 'Contacts by what they did with an email of a campaign.',
    examples: [{ campaign: 'any', did: 'open', within: '30d' }],
  })

const DealLeaf = z
  .strictObject({
    deal: z
      .strictObject({
        status: z.enum(dealStatuses).optional().describe('The status of the deal.'),
        pipelineId: Id('pip').optional().describe('The pipeline of the deal.'),
        valueCents: z
          .strictObject(comparisonsOf(Cents))
          .refine((value) => Object.keys(value).length > 0, { error: 'must have an operator' })
          .optional()
          .describe('The value of the deal.'),
      })
      .describe('What must be true of one deal of the contact. Empty for any deal.'),
  })
  .meta({
    id: 'FilterByDeal',
    description: 'Contacts with a deal that meets all conditions.',
    examples: [{ deal: { status: 'OPEN', valueCents: { gte: 100_000 } } }],
  })

/** More than a company has properties. */
const maxCompanyConditions = 20

const CompanyLeaf = z
  .strictObject({
    company: z
      .object({
        id: Id('cpy').optional().describe('The company itself.'),
        ownerId: Id('usr').optional().describe('The owner of the company.'),
        tags: TagsCondition.optional().describe('The condition on its tags.'),
      })
      .catchall(
        z.union(
          [Scalar, z.strictObject(operators).refine(hasOperator, { error: noOperator })],
          'must be a text, a number, true or false, or an object with operators',
        ),
      )
      .refine((company) => Object.keys(company).length <= maxCompanyConditions, {
        error: `must have at most ${maxCompanyConditions} conditions`,
      })
      .describe(
        'What must be true of the company of the contact. Empty for any company. Other names are fields: `name`, `domain`, `externalId`, `phone`, `website`, `createdAt`, `updatedAt` or `customFieldValues.<key>`, with a value, or with the operators of `FilterByField`.',
      ),
  })
  .meta({
    id: 'FilterByCompany',
    description: 'Contacts by the company that `companyId` names.',
    examples: [{ company: { domain: 'acme.example', 'customFieldValues.tier': { eq: 'gold' } } }],
  })

export type Leaf =
  | z.output<typeof FieldLeaf>
  | z.output<typeof TagsLeaf>
  | z.output<typeof ListLeaf>
  | z.output<typeof CampaignLeaf>
  | z.output<typeof DealLeaf>
  | z.output<typeof CompanyLeaf>
export type Filter = { all: Filter[] } | { any: Filter[] } | { not: Filter } | Leaf

const Nested = z.lazy((): z.ZodType<Filter> => FilterNode)
const Group = z.array(Nested).min(1, 'must not be empty')

/** A filter in a response. Requests use `ContactFilter`. */
export const FilterNode: z.ZodType<Filter> = z
  .union(
    [
      z.strictObject({ all: Group.describe('Every one of these filters is true.') }),
      z.strictObject({ any: Group.describe('At least one of these filters is true.') }),
      z.strictObject({ not: Nested.describe('This filter is not true.') }),
      FieldLeaf,
      TagsLeaf,
      ListLeaf,
      CampaignLeaf,
      DealLeaf,
      CompanyLeaf,
    ],
    {
      error: ({ input }) =>
        input === undefined
          ? undefined
          : 'must be an object with one of all, any, not, field, tags, list, campaign, deal, company',
    },
  )
  .meta({
    id: 'ContactFilter',
    description: `A question about contacts: a leaf, or \`all\`, \`any\` or \`not\` of other filters. \`not\` of an open or click matches only contacts of whom it would have been seen: every email of the campaign, or, with \`any\`, every email of the period, tracked them as a person, and they have not denied it since. At most ${maxDepth} of these within each other, and at most ${maxLeaves} leaves. A contact without a value matches only \`ne\`, \`notWithin\` and \`isSet: false\`.`,
    examples: [
      {
        all: [{ field: 'customFieldValues.plan', eq: 'pro' }, { not: { campaign: 'any', did: 'open', within: '30d' } }],
      },
    ],
  })

/** A filter in a request. Its size is checked first: a parser that calls itself must not meet a deep input. */
export const ContactFilter: z.ZodType<Filter> = z.preprocess((input, check) => {
  const problem = findExcess(input)
  if (problem === undefined) return input
  check.addIssue({ code: 'custom', message: problem })
  return z.NEVER
}, FilterNode)

/** A filter in a query: JSON. */
export const FilterParameter = z
  .string()
  .transform((text, check): unknown => {
    try {
      const filter: unknown = JSON.parse(text)
      if (findRepeatedKey(text, filter) === undefined) return filter
    } catch {
      // No JSON.
    }
    check.addIssue({ code: 'custom', message: 'must be JSON with each key once' })
    return z.NEVER
  })
  .pipe(ContactFilter)

function findExcess(input: unknown): string | undefined {
  const open = [{ node: input, depth: 0 }]
  let leaves = 0
  for (let next = open.pop(); next; next = open.pop()) {
    const inner = innerNodes(next.node)
    if (!inner?.length) leaves += 1
    if (inner && next.depth === maxDepth) return `must have at most ${maxDepth} levels of all, any and not`
    if (leaves > maxLeaves) return `must have at most ${maxLeaves} leaves`
    for (const node of inner ?? []) open.push({ node, depth: next.depth + 1 })
  }
  return undefined
}

/** The filters in a group; undefined for a leaf. Also of a node that is invalid, because the parser reads them all. */
function innerNodes(node: unknown): readonly unknown[] | undefined {
  if (typeof node !== 'object' || node === null) return undefined
  const { all, any, not } = node as Record<string, unknown>
  const groups = [all, any, not === undefined ? undefined : [not]].filter((group) => Array.isArray(group))
  return groups.length > 0 ? groups.flat() : undefined
}
