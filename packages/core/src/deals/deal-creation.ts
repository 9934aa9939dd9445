import { sql } from 'drizzle-orm'
import { movingActivities } from '../contacts/contact-statements.ts'
import { type Ctx, inTransaction } from '../context.ts'
import { AppError, brokenConstraint, invalidField } from '../errors.ts'
import { emitEach } from '../events.ts'
import { newId, uuidOf } from '../ids.ts'
import { lockStage } from '../pipelines/stages.ts'
import { type Given, prepared } from '../prepared.ts'
import { deals } from '../schema.ts'
import { type Asked, writtenTogether } from '../written-together.ts'
import { toDeal } from './deal-record.ts'
import type { Deal, DealInput } from './deals.schema.ts'

/**
 * Creates an OPEN deal, in the pipeline's first stage unless another is named, and tells `deal.created`. What one
 * workspace asks for at the same time is written together.
 */
export function createDeal(ctx: Ctx, input: DealInput): Promise<Deal> {
  return createTogether(ctx, input).catch((error: unknown) => {
    // The stage was removed at this very moment: now it is known to be missing, or another one is the first.
    if (brokenConstraint(error) === 'deals_stage_fk') return createDeal(ctx, input)
    throw error
  })
}

const createTogether = writtenTogether<DealInput, Deal>((ctx, asked) =>
  inTransaction(ctx, (ctx) => createAll(ctx, asked)),
)

async function createAll(ctx: Ctx, asked: readonly Asked<DealInput>[]): Promise<(Deal | Error)[]> {
  const ids = asked.map(() => newId('dea'))
  const rows = asked.map(({ input: { pipelineId, stageId, contactId, name, valueCents } }, at) => ({
    id: uuidOf(ids[at] ?? ''),
    pipelineId: uuidOf(pipelineId),
    stageId: stageId === undefined ? null : uuidOf(stageId),
    contactId: uuidOf(contactId),
    name,
    valueCents,
  }))
  const inserted = await insertDeals(ctx.db, { workspaceId: ctx.workspaceId, rows: JSON.stringify(rows) })
  const created = new Map(inserted.map((row) => [row.id, toDeal(row)]))
  const answers: (Deal | Error)[] = []
  for (const [at, one] of asked.entries()) answers.push(created.get(ids[at] ?? '') ?? (await whyNoDeal(ctx, one)))
  const happened = asked.flatMap(({ ctx: origin }, at) => {
    const data = created.get(ids[at] ?? '')
    return data ? [{ data, origin }] : []
  })
  await emitEach(ctx, 'deal.created', happened)
  return answers
}

/** One statement for all of it, which locks the contacts; no row where the contact or the stage is missing. `rows` is JSON, with UUIDs for ids. */
const insertDeals = prepared('insert deals', (db, given: Given<{ workspaceId: string; rows: string }>) => {
  const workspaceId = sql`${sql.param(given('workspaceId'), deals.workspaceId)}::uuid`
  const stagesOf = sql`
    from stages s where s.workspace_id = ${workspaceId} and s.pipeline_id = asked."pipelineId"
      and (asked."stageId" is null or s.id = asked."stageId")`
  // What cannot be created leaves its contact as it was.
  const contactIds = sql`
    select distinct "contactId" from json_to_recordset(${given('rows')}::json)
      as asked ("contactId" uuid, "pipelineId" uuid, "stageId" uuid)
    where exists (select ${stagesOf})`
  return db
    .with(db.$with('active').as(movingActivities(db, workspaceId, contactIds)))
    .insert(deals)
    .select(sql`
      select s.workspace_id, asked.id, s.pipeline_id, s.id, active.id, asked.name, asked."valueCents", 'OPEN',
        null::timestamptz, now(), now()
      from json_to_recordset(${given('rows')}::json) as asked (id uuid, "pipelineId" uuid, "stageId" uuid,
        "contactId" uuid, name text, "valueCents" bigint)
      join active on active.id = asked."contactId"
      cross join lateral (
        select s.workspace_id, s.pipeline_id, s.id ${stagesOf} order by s.position limit 1) s`)
    .returning()
})

async function whyNoDeal(ctx: Ctx, { input }: Asked<DealInput>): Promise<Error> {
  try {
    await lockStage(ctx, input)
    return invalidField('contactId', 'Contact not found')
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
}
