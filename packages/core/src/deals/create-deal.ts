import { sql } from 'drizzle-orm'
import { movingActivities } from '../contacts/contact-statements.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { invalidField } from '../kernel/errors.ts'
import { endOfJson, tellEach } from '../events/emit.ts'
import { timestampOf } from '../kernel/validation.ts'
import { idInSql, idOf, newId, uuidOf } from '../kernel/ids.ts'
import { lockStage } from '../pipelines/stages.ts'
import { preparedSql } from '../db/prepared-query.ts'
import { type Asked, writtenTogether } from '../request/written-together.ts'
import type { Deal, DealInput } from './deals.schema.ts'
import { lockContact } from '../contacts/lock-contact.ts'

/**
 * Creates an OPEN deal, in the pipeline's first stage unless another is named, and tells `deal.created`. What one
 * workspace asks for at the same time is written together.
 */
export async function createDeal(ctx: Ctx, input: DealInput): Promise<Deal> {
  return (await createAtOnce(ctx, input)) ?? createPatiently(ctx, input)
}

/** By one statement, which is a transaction by itself. */
const createAtOnce = writtenTogether(insertDeals)

/**
 * For those whose contact or stage another has in hand: nobody else is to wait for these. Whoever waits for both, or lacks
 * one, has the same to expect.
 */
const createPatiently = writtenTogether<DealInput, Deal>(
  (ctx, asked) =>
    inTransaction(ctx, async (ctx) => {
      const [first] = asked
      if (!first) return []
      const contact = await lockContact(ctx, first.input.contactId)
      const { stageId } = await lockStage(ctx, first.input)
      // In the stage that is held: the first may be another by now, and in another's hands.
      const placed = asked.map((one) => ({ ...one, input: { ...one.input, stageId } }))
      const created = contact ? await insertDeals(ctx, placed) : []
      return asked.map((_, at) => created[at] ?? invalidField('contactId', 'Contact not found'))
    }),
  ({ ctx, input: { contactId, pipelineId, stageId = '' } }) => [ctx.workspaceId, contactId, pipelineId, stageId].join(),
)

/** Each in its place: undefined when the contact or the stage is missing, or in another's hands. */
async function insertDeals(ctx: Ctx, asked: readonly Asked<DealInput>[]): Promise<(Deal | undefined)[]> {
  const news = asked.map(toNew)
  const rows = JSON.stringify(news.map(({ row }) => row))
  const inserted = await insertAndTell(ctx.db, { workspaceId: uuidOf(ctx.workspaceId), rows })
  const made = new Map(inserted.map((read) => [read.id, read]))
  return news.map(({ row, deal }) => {
    const read = made.get(row.id)
    if (!read) return undefined
    const [createdAt, updatedAt] = [timestampOf(read.createdAt), timestampOf(read.updatedAt)]
    return { ...deal, stageId: idOf('stg', read.stageId), createdAt, updatedAt }
  })
}

/** A deal as it is shown, but for what only the statement knows; and as the statement takes it. */
function toNew({ ctx, input }: Asked<DealInput>) {
  const { pipelineId, stageId, contactId, name, valueCents } = input
  const beforeStage = { id: newId('dea'), pipelineId }
  const afterStage = { contactId, name, valueCents, status: 'OPEN' as const, closedAt: null }
  const row = {
    id: uuidOf(beforeStage.id),
    pipelineId: uuidOf(pipelineId),
    stageId: stageId === undefined ? null : uuidOf(stageId),
    contactId: uuidOf(contactId),
    name,
    valueCents,
    beginning: `${JSON.stringify(beforeStage).slice(0, -1)},"stageId":"`,
    middle: `",${JSON.stringify(afterStage).slice(1, -1)}`,
    requestId: ctx.requestId,
    traceparent: ctx.traceparent ?? null,
  }
  return { row, deal: { ...beforeStage, stageId: '', ...afterStage } }
}

interface Inserted {
  id: string
  stageId: string
  createdAt: string
  updatedAt: string
}

/**
 * New deals, and `deal.created` of each, which moves its contact's activity; no row where `insertDeals` has none, and the
 * contact is as it was. Waits for nobody's contact and nobody's stage. `rows` is JSON, with UUIDs for ids: what `toNew`
 * makes.
 */
const insertAndTell = preparedSql<{ workspaceId: string; rows: string }, Inserted>('insert deals', (given) => {
  const workspaceId = sql`${given('workspaceId')}::uuid`
  return sql`
    -- Before all else, as every other writer: the upkeep of partitions takes the table before that of the events.
    with workspace as (
      select id from workspaces where id = ${workspaceId} for key share),
    given as (
      select * from json_to_recordset(${given('rows')}::json) as given (id uuid, "pipelineId" uuid, "stageId" uuid,
        "contactId" uuid, name text, "valueCents" bigint, beginning text, middle text, "requestId" text, traceparent text)),
    -- Once for all who ask for it.
    place as materialized (
      select asked.*, s.id as found, ${idInSql('stg', sql`s.id`)} as shown
      from (select distinct "pipelineId", "stageId" from given) asked
      cross join lateral (
        select s.id from stages s
        where s.workspace_id = ${workspaceId} and s.pipeline_id = asked."pipelineId"
          and (asked."stageId" is null or s.id = asked."stageId")
        order by s.position limit 1) meant
      cross join lateral (
        select s.id from stages s
        where s.workspace_id = ${workspaceId} and s.id = meant.id for key share skip locked) s),
    placed as (
      select given.*, workspace.id as workspace_id, place.found, place.shown
      from workspace cross join given join place
        on place."pipelineId" = given."pipelineId" and place."stageId" is not distinct from given."stageId"),
    active as (${movingActivities(workspaceId, sql`select distinct "contactId" from placed`)}),
    inserted as (
      insert into deals as d (workspace_id, id, pipeline_id, stage_id, contact_id, name, value_cents, created_at,
        updated_at)
      select placed.workspace_id, placed.id, placed."pipelineId", placed.found, active.id, placed.name,
        placed."valueCents", now(), now()
      from placed join active on active.id = placed."contactId"
      returning d.id, d.stage_id as "stageId", d.created_at as "createdAt", d.updated_at as "updatedAt"),
    told as (
      select uuidv7() as id, beginning || shown || middle || ${endOfJson} as data, "contactId" as contact_id,
        "requestId" as request_id, traceparent
      from inserted join placed using (id)),
    ${tellEach(given('workspaceId'), 'deal.created')}
    select inserted.* from inserted left join notified on true`
})
