/**
 * Compiles a filter to a condition on `contacts`. Each leaf is one condition in parentheses, and each sub-select names
 * the workspace. A condition is true, false or null (no value); the negation of null is true, so only positive operators
 * have SQL of their own: `ne` is not `eq`, and `notWithin` is not `within`.
 */
import { type SQL, sql } from 'drizzle-orm'
import {
  campaignRecipients,
  campaigns,
  contactAliases,
  contacts,
  deals,
  subscriptions,
  trackingConsents,
} from '../db/schema/index.ts'
import { invalidFields, type Issue } from '../kernel/errors.ts'
import { uuidOf } from '../kernel/ids.ts'
import { withSuggestion } from '../kernel/suggestion.ts'
import { normalizeEmail, normalizeText, toAsciiDomains } from '../kernel/validation.ts'
import type { Ctx } from '../request/context.ts'
import { type ContactField, findContactField, operatorsOf } from './contact-fields.ts'
import type { Comparison, Filter, Leaf, Operator } from './filter.schema.ts'
import { type FilterReferences, readReferences } from './filter-references.ts'

interface Compilation {
  ctx: Ctx
  references: FilterReferences
  /** The time that periods such as `30d` end. */
  now: Date
  /** Whether a value must be one that its field can have. Options may be removed after a segment is saved. */
  checksOptions: boolean
  /** Whether `not` matches contacts of whom an open or a click would not have been recorded. */
  matchesUnseen: boolean
  issues: Issue[]
}

/**
 * Returns the condition for the contacts of the workspace that match the filter. Throws `validation_error` with the
 * path of each leaf that names an unknown field or record, or an operator or value that does not fit its field.
 */
export async function compileFilter(
  ctx: Ctx,
  filter: Filter,
  { checksOptions = true, matchesUnseen = false, now = new Date() } = {},
): Promise<SQL> {
  const issues: Issue[] = []
  const references = await readReferences(ctx, filter)
  const condition = compileNode({ ctx, references, now, checksOptions, matchesUnseen, issues }, filter, {
    path: 'filter',
  })
  if (issues.length > 0) throw invalidFields(issues)
  return condition
}

/** Where a filter is. `isNegated`: within an odd number of `not`. */
interface Place {
  path: string
  isNegated?: boolean
}

function compileNode(to: Compilation, filter: Filter, { path, isNegated = false }: Place): SQL {
  const compileGroup = (name: 'all' | 'any', filters: Filter[]) =>
    filters.map((inner, index) => compileNode(to, inner, { path: `${path}.${name}.${index}`, isNegated }))
  if ('all' in filter) return sql`(${sql.join(compileGroup('all', filter.all), sql` and `)})`
  if ('any' in filter) return sql`(${sql.join(compileGroup('any', filter.any), sql` or `)})`
  if ('not' in filter) {
    const inner = compileNode(to, filter.not, { path: `${path}.not`, isNegated: !isNegated })
    // PostgreSQL plans a join for `not exists` only.
    return isNullable(filter.not) ? not(inner) : sql`(not ${inner})`
  }
  return sql`(${compileLeaf(to, filter, { path, isNegated })})`
}

/** Whether the condition of a filter can be null: only fields of contacts can. */
function isNullable(filter: Filter): boolean {
  if ('all' in filter) return filter.all.some(isNullable)
  if ('any' in filter) return filter.any.some(isNullable)
  return 'field' in filter
}

const not = (condition: SQL) => sql`((${condition}) is not true)`
const never = sql`false`

function compileLeaf(to: Compilation, leaf: Leaf, place: Place): SQL {
  const { path } = place
  if ('field' in leaf) return byField(to, leaf, path)
  if ('tags' in leaf) return byTags(leaf)
  if ('list' in leaf) return byList(to, leaf, path)
  if ('campaign' in leaf) return byCampaign(to, leaf, place)
  return byDeal(to, leaf, path)
}

type LeafWith<Key extends string> = Extract<Leaf, Record<Key, unknown>>

function reject(to: Compilation, path: string, message: string): SQL {
  to.issues.push({ path, message })
  return never
}

function byField(to: Compilation, { field: name, ...operators }: LeafWith<'field'>, path: string): SQL {
  const field = findContactField(name, to.references)
  if ('message' in field) return reject(to, `${path}.field`, field.message)
  const allowed: readonly Operator[] = operatorsOf[field.type]
  const given = Object.entries(operators).filter(([, value]) => value !== undefined) as [Operator, unknown][]
  const conditions = given.map(([operator, value]) => {
    const at = `${path}.${operator}`
    if (!allowed.includes(operator)) return reject(to, at, `does not fit ${name}: use ${allowed.join(', ')}`)
    const problem = findProblem(field, operator, { value, checksOptions: to.checksOptions })
    return problem === undefined ? operatorsInSql[operator](field, value as never, to.now) : reject(to, at, problem)
  })
  return sql.join(conditions, sql` and `)
}

const valueTypes: Partial<Record<ContactField['type'], readonly [type: string, message: string]>> = {
  number: ['number', 'must be a number'],
  boolean: ['boolean', 'must be true or false'],
}

/** Returns what is wrong with the value of an operator. */
function findProblem(
  field: ContactField,
  operator: Operator,
  { value, checksOptions }: { value: unknown; checksOptions: boolean },
): string | undefined {
  if (operator === 'isSet') return undefined
  const values: unknown[] = Array.isArray(value) ? value : [value]
  const [type, message] = valueTypes[field.type] ?? ['string', 'must be a text']
  if (values.some((one) => typeof one !== type)) return message
  const { options } = field
  const unknown = checksOptions && options ? values.find((one) => !findOption(options, one)) : undefined
  if (typeof unknown === 'string') return withSuggestion(`"${unknown}" is not an option`, unknown, options ?? [])
  if (field.type === 'email' && checksOptions && isEquality(operator) && !values.every(isEmail))
    return 'must be an email address such as ada@example.com'
  if (field.type === 'date' && (operator === 'before' || operator === 'after') && !isDate(String(value)))
    return 'must be a date such as 2026-11-21'
  return undefined
}

const isEquality = (operator: Operator) => ['eq', 'ne', 'in'].includes(operator)
const isEmail = (value: unknown) => normalizeEmail(normalizeText(String(value))) !== undefined
const isDate = (text: string) => /^\d{4}-\d\d-\d\d$/.test(text)

type Compile = (field: ContactField, value: never, now: Date) => SQL

/** Null for a text of accents alone: the empty text would be a part of every value. */
const folded = (text: string) => sql`nullif(fold_text(${text}), '')`

/** The meaning of each operator. `value` has the type that `findProblem` requires. */
const operatorsInSql: Record<Operator, Compile> = {
  eq: (field, value: string | number | boolean) => equals(field, value),
  ne: (field, value: string | number | boolean) => not(equals(field, value)),
  in: (field, values: string[]) =>
    sql`(${sql.join(
      values.map((value) => equals(field, value)),
      sql` or `,
    )})`,
  lt: (field, value: number) => compare(field, '<', value),
  lte: (field, value: number) => compare(field, '<=', value),
  gt: (field, value: number) => compare(field, '>', value),
  gte: (field, value: number) => compare(field, '>=', value),
  contains: (field, value: string) => hasPart(field, value, (text, part) => sql`strpos(${text}, ${part}) > 0`),
  startsWith: (field, value: string) => hasPart(field, value, (text, part) => sql`starts_with(${text}, ${part})`),
  before: (field, value: string) => sql`${sortable(field)} < ${momentOf(field, new Date(value))}`,
  after: (field, value: string) => sql`${sortable(field)} >= ${momentOf(field, new Date(value))}`,
  within: (field, value: string, now) => isWithin(field, value, now),
  notWithin: (field, value: string, now) => not(isWithin(field, value, now)),
  isSet: ({ value }, isSet: boolean) => (isSet ? sql`${value} is not null` : sql`${value} is null`),
}

/** An address is stored with international domains in ASCII. */
function hasPart({ type, value: text }: ContactField, part: string, compile: (text: SQL, part: SQL) => SQL): SQL {
  const spellings = type === 'email' ? [...new Set([part, toAsciiDomains(part)])] : [part]
  const conditions = spellings.map((spelling) => compile(sql`fold_text(${text})`, folded(spelling)))
  return sql`(${sql.join(conditions, sql` or `)})`
}

/** The option as it is stored. */
const findOption = (options: readonly string[], wanted: unknown) =>
  options.find((option) => typeof wanted === 'string' && normalizeText(option) === normalizeText(wanted))

/** Custom fields and emails have indexes for equality. */
function equals({ key, type, value, options = [] }: ContactField, given: string | number | boolean): SQL {
  const isText = typeof given === 'string' && type !== 'key'
  const wanted = isText ? (findOption(options, given) ?? normalizeText(given)) : given
  if (key !== undefined) return sql`${contacts}.custom_field_values @> ${JSON.stringify({ [key]: wanted })}::jsonb`
  return type === 'email'
    ? sql`lower(${value} collate "C") = lower(${normalizeEmail(String(wanted)) ?? wanted} collate "C")`
    : sql`${value} = ${wanted}`
}

/** Compares numbers as JSON: unlike a cast, this cannot fail for a value of another type. */
function compare({ key = '' }: ContactField, operator: string, value: number): SQL {
  return sql`(${contacts}.custom_field_values -> ${key}::text) ${sql.raw(operator)} ${JSON.stringify(value)}::jsonb`
}

/** Dates are stored as texts such as 2026-11-21, whose order is that of the dates. */
const sortable = ({ type, value }: ContactField) => (type === 'date' ? sql`${value} collate "C"` : value)

const momentOf = ({ type }: Pick<ContactField, 'type'>, at: Date) =>
  type === 'date' ? sql`${at.toISOString().slice(0, 10)}` : sql`${at.toISOString()}::timestamptz`

function isWithin(field: ContactField, period: string, now: Date): SQL {
  const from = sql`${sortable(field)} >= ${momentOf(field, startOf(period, now))}`
  // A moment of a contact is never in the future, but a date may be.
  return field.type === 'date' ? sql`${from} and ${sortable(field)} <= ${momentOf(field, now)}` : from
}

const hours = { h: 1, d: 24, w: 7 * 24 }

function startOf(period: string, now: Date): Date {
  const unit = period.slice(-1) as keyof typeof hours
  return new Date(now.getTime() - Number(period.slice(0, -1)) * hours[unit] * 3_600_000)
}

function byTags({ tags: { has, hasAny } }: LeafWith<'tags'>): SQL {
  const conditions = [
    has === undefined ? undefined : sql`${contacts}.tags @> ${sql.param([has])}::text[]`,
    hasAny && sql`${contacts}.tags && ${sql.param(hasAny)}::text[]`,
  ]
  return sql.join(
    conditions.filter((condition) => condition !== undefined),
    sql` and `,
  )
}

const inWorkspace = ({ ctx }: Compilation, alias: string) =>
  sql`${sql.identifier(alias)}.workspace_id = ${uuidOf(ctx.workspaceId)}::uuid`

function byList(to: Compilation, { list, status }: LeafWith<'list'>, path: string): SQL {
  if (!to.references.lists.has(list)) return reject(to, `${path}.list`, 'List not found')
  return sql`exists (
    select from ${subscriptions} s
    where ${inWorkspace(to, 's')} and s.list_id = ${uuidOf(list)}::uuid and s.contact_id = ${contacts}.id
      ${status ? sql`and s.status = ${status}` : sql``})`
}

const columnOfAction = { receive: 'ended_at', open: 'opened_at', click: 'clicked_at' }

/**
 * A contact also did what the contacts did that were merged into it. Within a `not`, the condition is also true for a
 * contact of whom an open or a click may be unseen, so that `not` does not match it.
 */
function byCampaign(to: Compilation, leaf: LeafWith<'campaign'>, { path, isNegated = false }: Place): SQL {
  const { campaign, did, within } = leaf
  if (campaign !== 'any' && !to.references.campaigns.has(campaign))
    return reject(to, `${path}.campaign`, 'Campaign not found')
  const at = sql`r.${sql.identifier(columnOfAction[did])}`
  const isRecent = (moment: SQL) => within && sql`${moment} >= ${startOf(within, to.now).toISOString()}::timestamptz`
  const isDone = isRecent(at) ?? sql`${at} is not null`
  const isUnseen = isNegated && !to.matchesUnseen && did !== 'receive' ? unseen(to, did) : undefined
  const isRecentMail = isRecent(sql`r.created_at`) ?? sql`true`
  const isAction = sql`${inWorkspace(to, 'r')}
    ${campaign === 'any' ? sql`` : sql`and r.campaign_id = ${uuidOf(campaign)}::uuid`}
    ${did === 'receive' ? sql`and r.status = 'SENT'` : sql``}
    and ${isUnseen ? sql`(${isDone} or (${isRecentMail} and ${isUnseen}))` : isDone}`
  const hasAction = sql`exists (select from ${campaignRecipients} r where ${isAction} and r.contact_id = ${contacts}.id)`
  if (!to.references.hasMergedContacts) return hasAction
  return sql`${hasAction}
    or exists (
      select from ${contactAliases} a join ${campaignRecipients} r on r.contact_id = a.id
      where ${inWorkspace(to, 'a')} and a.contact_id = ${contacts}.id and ${isAction})`
}

/**
 * Whether a mail `r` may have been opened or clicked unseen: it did not track its recipient as a person, or the contact
 * denied this later. A release without levels tracked as the campaign says.
 */
function unseen(to: Compilation, did: 'open' | 'click'): SQL {
  const name = { open: 'opens', click: 'clicks' }[did]
  const trackedByCampaign = sql.identifier(did === 'open' ? 'track_opens' : 'track_clicks')
  const isUntracked = sql`not coalesce(r.${sql.identifier(`${name}_tracked`)}, (
    select k.${trackedByCampaign} from ${campaigns} k where ${inWorkspace(to, 'k')} and k.id = r.campaign_id))`
  const isDenied = sql`exists (
    select from ${trackingConsents} t where ${inWorkspace(to, 't')} and t.contact_id = ${contacts}.id
      and (t.${sql.identifier(name)} = 'DENIED' or t.${sql.identifier(`${name}_denied_at`)} >= r.created_at))`
  return sql`r.status in ('SENDING', 'SENT', 'INTERRUPTED')
    and ${to.references.hasTrackingConsents ? sql`(${isUntracked} or ${isDenied})` : isUntracked}`
}

const signs: Record<Comparison, string> = { eq: '=', ne: '<>', lt: '<', lte: '<=', gt: '>', gte: '>=' }

function byDeal(to: Compilation, { deal }: LeafWith<'deal'>, path: string): SQL {
  const { status, pipelineId, valueCents = {} } = deal
  if (pipelineId && !to.references.pipelines.has(pipelineId))
    return reject(to, `${path}.deal.pipelineId`, 'Pipeline not found')
  const comparisons = Object.entries(valueCents) as [Comparison, number][]
  const conditions = [
    inWorkspace(to, 'd'),
    sql`d.contact_id = ${contacts}.id`,
    ...(status ? [sql`d.status = ${status}`] : []),
    ...(pipelineId ? [sql`d.pipeline_id = ${uuidOf(pipelineId)}::uuid`] : []),
    ...comparisons.map(([operator, cents]) => sql`d.value_cents ${sql.raw(signs[operator])} ${cents}::bigint`),
  ]
  return sql`exists (select from ${deals} d where ${sql.join(conditions, sql` and `)})`
}
