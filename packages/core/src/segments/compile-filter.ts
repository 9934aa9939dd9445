/**
 * Compiles a filter to a condition on `contacts`. Each leaf is one condition in parentheses, and each sub-select names
 * the workspace. A condition is true, false or null (no value); the negation of null is true, so only positive operators
 * have SQL of their own: `ne` is not `eq`, and `notWithin` is not `within`.
 */
import { type SQL, sql } from 'drizzle-orm'
import {
  campaignRecipients,
  companies,
  contactAliases,
  contacts,
  deals,
  subscriptions,
  trackingConsents,
} from '../db/schema/index.ts'
import { qualify } from '../db/statements/qualify.ts'
import { invalidFields, type Issue } from '../kernel/errors.ts'
import { uuidOf } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import { compileField, isNotTrue, reject, startOfPeriod } from './compile-field.ts'
import { findField } from './filter-fields.ts'
import type { Comparison, Filter, Leaf } from './filter.schema.ts'
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
  /** See `FilterOptions`. */
  readsAll: boolean
  issues: Issue[]
}

export interface FilterOptions {
  checksOptions?: boolean
  now?: Date
  /**
   * Whether the statement reads all contacts of a list anyway. PostgreSQL expects that 0.1 % of the contacts have a value
   * of a custom field. Then it looks up the emails of each of 333,000, instead of reading all emails once. Of what
   * `coalesce` returns, it expects a half.
   */
  readsAll?: boolean
}

/**
 * Returns the condition for the contacts of the workspace that match the filter. Throws `validation_error` with the
 * path of each leaf that names an unknown field or record, or an operator or value that does not fit its field.
 */
export async function compileFilter(
  ctx: Ctx,
  filter: Filter,
  {
    checksOptions = true,
    matchesUnseen = false,
    readsAll = false,
    now = new Date(),
  }: FilterOptions & {
    matchesUnseen?: boolean
  } = {},
): Promise<SQL> {
  const issues: Issue[] = []
  const references = await readReferences(ctx, filter)
  const compilation = { ctx, references, now, checksOptions, matchesUnseen, readsAll, issues }
  const condition = compileNode(compilation, filter, { path: 'filter' })
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
    return isNullable(filter.not) ? isNotTrue(inner) : sql`(not ${inner})`
  }
  return sql`(${compileLeaf(to, filter, { path, isNegated })})`
}

/** Whether the condition of a filter can be null: only fields of contacts can. */
function isNullable(filter: Filter): boolean {
  if ('all' in filter) return filter.all.some(isNullable)
  if ('any' in filter) return filter.any.some(isNullable)
  return 'field' in filter
}

function compileLeaf(to: Compilation, leaf: Leaf, place: Place): SQL {
  const { path } = place
  if ('field' in leaf) return byField(to, leaf, path)
  if ('tags' in leaf) return byTags(leaf)
  if ('list' in leaf) return byList(to, leaf, path)
  if ('campaign' in leaf) return byCampaign(to, leaf, place)
  if ('company' in leaf) return byCompany(to, leaf, path)
  return byDeal(to, leaf, path)
}

type LeafWith<Key extends string> = Extract<Leaf, Record<Key, unknown>>

function byField(to: Compilation, { field: name, ...operators }: LeafWith<'field'>, path: string): SQL {
  const field = findField('CONTACT', name, to.references.customFields.CONTACT)
  if ('message' in field) return reject(to, `${path}.field`, field.message)
  const condition = compileField(to, { name, field, path }, operators)
  return to.readsAll && field.custom ? sql`coalesce(${condition}, false)` : condition
}

const byTags = ({ tags }: LeafWith<'tags'>): SQL => hasTags(qualify(contacts.tags), tags)

function hasTags(column: SQL, { has, hasAny }: LeafWith<'tags'>['tags']): SQL {
  const conditions = [
    ...(has === undefined ? [] : [sql`${column} @> ${sql.param([has])}::text[]`]),
    ...(hasAny ? [sql`${column} && ${sql.param(hasAny)}::text[]`] : []),
  ]
  return sql.join(conditions, sql` and `)
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
  const isRecent = (moment: SQL) =>
    within && sql`${moment} >= ${startOfPeriod(within, to.now).toISOString()}::timestamptz`
  const isDone = isRecent(at) ?? sql`${at} is not null`
  const mayBeUnseen = isNegated && !to.matchesUnseen && did !== 'receive'
  const isRecentMail = isRecent(sql`r.created_at`) ?? sql`true`
  const isAction = (contactId: SQL) => sql`${inWorkspace(to, 'r')}
    ${campaign === 'any' ? sql`` : sql`and r.campaign_id = ${uuidOf(campaign)}::uuid`}
    ${did === 'receive' ? sql`and r.status = 'SENT'` : sql``}
    and ${mayBeUnseen ? sql`(${isDone} or (${isRecentMail} and ${unseen(to, did, contactId)}))` : isDone}`
  const hasAction = sql`exists (
    select from ${campaignRecipients} r where ${isAction(sql`r.contact_id`)} and r.contact_id = ${contacts}.id)`
  if (!to.references.hasMergedContacts) return hasAction
  return sql`${hasAction}
    or exists (
      select from ${contactAliases} a join ${campaignRecipients} r on r.contact_id = a.id
      where ${inWorkspace(to, 'a')} and a.contact_id = ${contacts}.id and ${isAction(sql`a.contact_id`)})`
}

/**
 * Whether a mail `r` may have been opened or clicked unseen: it did not track its recipient as a person, or the contact
 * denied this later. `contactId` is a column of the sub-select, so that PostgreSQL can run it once for all contacts.
 */
function unseen(to: Compilation, did: 'open' | 'click', contactId: SQL): SQL {
  const name = { open: 'opens', click: 'clicks' }[did]
  const isUntracked = sql`r.${sql.identifier(`${name}_tracked`)} is not true`
  const isDenied = sql`exists (
    select from ${trackingConsents} t where ${inWorkspace(to, 't')} and t.contact_id = ${contactId}
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

/** Each of the other names is a field of the company: a value stands for the operator `eq`. */
function byCompany(to: Compilation, { company }: LeafWith<'company'>, path: string): SQL {
  const { id, ownerId, tags, ...fields } = company
  if (id && !to.references.companies.has(id)) return reject(to, `${path}.company.id`, 'Company not found')
  if (ownerId && !to.references.members.has(ownerId)) return reject(to, `${path}.company.ownerId`, 'User not found')
  const conditions = Object.entries(fields).map(([name, given]) => {
    const at = `${path}.company.${name}`
    const field = findField('COMPANY', name, to.references.customFields.COMPANY)
    if ('message' in field) return reject(to, at, field.message)
    return compileField(to, { name, field, path: at }, typeof given === 'object' ? given : { eq: given })
  })
  return sql`exists (
    select from ${companies}
    where ${inWorkspace(to, 'companies')} and ${companies}.id = ${contacts}.company_id
      ${id ? sql`and ${companies}.id = ${uuidOf(id)}::uuid` : sql``}
      ${ownerId ? sql`and ${companies}.owner_id = ${uuidOf(ownerId)}::uuid` : sql``}
      ${tags ? sql`and ${hasTags(qualify(companies.tags), tags)}` : sql``}
      ${sql.join(
        conditions.map((condition) => sql`and ${condition}`),
        sql` `,
      )})`
}
