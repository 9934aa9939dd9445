/** Redacts the events of an erased person: `RedactedRecord` replaces their `data`. */
import { sql } from 'drizzle-orm'
import type { z } from 'zod'
import { batchSizeFor, type ErasedPerson, isNamedIn, likePatterns, type StepResult } from '../kernel/erased-person.ts'
import { uuidOf } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import type { EmittedType, RedactedRecord } from './event-definition.ts'

const batchSize = 500

/** Redacts the next events of the person. `contact.deleted` has only an id. Finds former addresses. */
export async function redactEventsOfPerson(ctx: Ctx, person: ErasedPerson, after: string): Promise<StepResult> {
  const [index = '0', at = '-infinity', id = nil] = after ? after.split(' ') : []
  const contactId = person.contactIds[Number(index)]
  if (!contactId) return {}
  const { rows } = await ctx.db.execute<EventOfPerson>(sql`
    select id, type, to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at,
      coalesce(data ->> 'id', data ->> 'contactId') as record, data ->> 'email' as email
    from events
    where workspace_id = ${uuidOf(ctx.workspaceId)} and contact_id = ${uuidOf(contactId)}
      and (created_at, id) > (${at}::timestamptz, ${id}::uuid)
    order by created_at, id limit ${batchSize}`)
  const named = rows.filter(({ type }) => type !== deleted)
  await redact(
    ctx,
    named.map((row) => ({ uuid: row.id, record: row.record ?? contactId })),
  )
  const last = rows.length === batchSize ? rows.at(-1) : undefined
  return {
    after: last ? `${index} ${last.at} ${last.id}` : `${Number(index) + 1} -infinity ${nil}`,
    formerEmails: rows.flatMap(({ email }) => email ?? []),
  }
}

interface EventOfPerson extends Record<string, unknown> {
  id: string
  type: string
  at: string
  record: string | null
  email: string | null
}

const nil = '00000000-0000-0000-0000-000000000000'
const deleted: EmittedType = 'contact.deleted'

/** Whether an event of the person was emitted while the erasure ran. */
export async function hasEventToRedact(ctx: Ctx, { contactIds, deletedAt }: ErasedPerson): Promise<boolean> {
  const since = new Date(deletedAt.getTime() - 60_000)
  const { rows } = await ctx.db.execute(sql`
    select from events
    where workspace_id = ${uuidOf(ctx.workspaceId)} and contact_id = any(${sql.param(contactIds.map(uuidOf))}::uuid[])
      and created_at > ${since.toISOString()}::timestamptz and type <> ${deleted} and data ->> 'redacted' is null
    limit 1`)
  return rows.length > 0
}

/** The types whose events can name a person without belonging to a contact. */
const unassignedTypes: EmittedType[] = [
  'mail.bounced',
  'mail.complained',
  'form.submitted',
  'import.completed',
  'campaign.sending',
  'campaign.sent',
  'campaign.canceled',
]
/** Reads them from the index of the feed, so that one step passes many events of other types. */
const feedBatchSize = 20_000

/**
 * Redacts events that name an address of the person but belong to no contact, such as a bounce of an unknown address.
 */
export async function redactUnassignedEvents(ctx: Ctx, person: ErasedPerson, after: string): Promise<StepResult> {
  const [transactionId = '0', id = nil] = after ? after.split(' ') : []
  const workspaceId = sql`${uuidOf(ctx.workspaceId)}::uuid`
  const limit = batchSizeFor(person, feedBatchSize)
  const { rows } = await ctx.db.execute<PassedEvent>(sql`
    with passed as materialized (
      select transaction_id, id, type from events
      where workspace_id = ${workspaceId} and (transaction_id, id) > (${transactionId}::xid8, ${id}::uuid)
      order by transaction_id, id limit ${limit}),
    last as (
      select transaction_id, id, count(*) over () as count from passed order by transaction_id desc, id desc limit 1)
    select last.transaction_id::text as "transactionId", last.id as "lastId", last.count::int, named.id, named.data
    from last left join lateral (
      select e.id, e.data from passed
      cross join lateral (
        select id, data, contact_id, created_at from events e
        where e.workspace_id = ${workspaceId} and e.id = passed.id limit 1) e
      where passed.type = any(${sql.param(unassignedTypes)}::text[]) and e.contact_id is null
        and e.created_at <= ${person.deletedAt.toISOString()}::timestamptz
        and lower(e.data::text) like any(${sql.param(likePatterns(person))}::text[])) named on true`)
  const [last] = rows
  if (!last) return {}
  const named = rows.flatMap(({ id, data }) =>
    id !== null && data && wordsOf(data).some((words) => isNamedIn(person, words))
      ? { uuid: id, record: data.id ?? person.contactIds[0] ?? '' }
      : [],
  )
  await redact(ctx, named)
  return { after: last.count < limit ? undefined : `${last.transactionId} ${last.lastId}` }
}

interface PassedEvent extends Record<string, unknown> {
  transactionId: string
  lastId: string
  count: number
  id: string | null
  data: UnassignedData | null
}
type UnassignedData = Partial<Record<'id' | 'email' | 'detail' | 'pauseReason', string>> &
  Partial<Record<'values' | 'errors', object>>

/** Not the sender of a campaign: it may be a member of the team, who is also a contact. */
const wordsOf = ({ email, detail, pauseReason, values, errors }: UnassignedData) => [
  email,
  detail,
  pauseReason,
  values,
  errors,
]

/** The ids come from a CTE, to prevent partition pruning: see `takeDeliveries` in `backlog-claim.ts`. */
async function redact(ctx: Ctx, events: readonly { uuid: string; record: string }[]): Promise<void> {
  if (events.length === 0) return
  const redacted = events.map(({ record }): z.output<typeof RedactedRecord> => ({ id: record, redacted: true }))
  await ctx.db.execute(sql`
    with redacted as materialized (
      select * from unnest(${sql.param(events.map(({ uuid }) => uuid))}::uuid[],
        ${sql.param(redacted.map((data) => JSON.stringify(data)))}::text[]) as redacted (id, data))
    update events e set data = (select data::json from redacted where redacted.id = e.id limit 1)
    where e.workspace_id = ${uuidOf(ctx.workspaceId)} and e.id = any(array(select id from redacted))`)
}
