import { sql } from 'drizzle-orm'
import { bigint, check, foreignKey, index, text, type AnyPgColumn } from 'drizzle-orm/pg-core'
import { timestamptz, createdAt, oneOf, id } from './columns.ts'
import { tenantTable } from './tenant-table.ts'
import { contacts } from './contacts.ts'
import { stages } from './pipelines.ts'

export const dealStatuses = ['OPEN', 'WON', 'LOST'] as const

/** What sorts by `closedAt`: what is not closed comes before all others. */
export const closingOrder = (closedAt: AnyPgColumn) => sql`coalesce(${closedAt}, '-infinity'::timestamptz)`

export const deals = tenantTable(
  'deals',
  {
    id: id('dea').notNull(),
    pipelineId: id('pip').notNull(),
    stageId: id('stg').notNull(),
    contactId: id('con').notNull(),
    name: text().notNull().default(''),
    valueCents: bigint({ mode: 'number' }).notNull().default(0),
    status: text({ enum: dealStatuses }).notNull().default('OPEN'),
    closedAt: timestamptz(),
    createdAt: createdAt(),
    updatedAt: createdAt(),
  },
  {
    key: ['id'],
    ownedBy: { contactId: contacts },
    extra: (t) => [
      // One key: the stage is always one of the deal's own pipeline.
      foreignKey({
        name: 'deals_stage_fk',
        columns: [t.workspaceId, t.pipelineId, t.stageId],
        foreignColumns: [stages.workspaceId, stages.pipelineId, stages.id],
      }),
      index('deals_created_index').on(t.workspaceId, t.createdAt, t.id),
      index('deals_updated_index').on(t.workspaceId, t.updatedAt, t.id),
      index('deals_value_index').on(t.workspaceId, t.valueCents, t.id),
      index('deals_closed_index').on(t.workspaceId, closingOrder(t.closedAt), t.id),
      index('deals_status_index').on(t.workspaceId, t.status, t.createdAt, t.id),
      index('deals_pipeline_index').on(t.workspaceId, t.pipelineId, t.createdAt, t.id),
      index('deals_stage_index').on(t.workspaceId, t.stageId, t.createdAt, t.id),
      index('deals_contact_index').on(t.workspaceId, t.contactId, t.createdAt, t.id),
      // With the value in it, so that a pipeline's sums are read from the index alone.
      index('deals_open_index')
        .on(t.workspaceId, t.pipelineId, t.stageId, t.valueCents)
        .where(sql`${t.status} = 'OPEN'`),
      oneOf('deals_status_check', t.status, dealStatuses),
      check('deals_closed_check', sql`(${t.status} = 'OPEN') = (${t.closedAt} is null)`),
      check('deals_value_check', sql`${t.valueCents} between 0 and 9007199254740991`),
    ],
  },
)

/** Each time a deal went to another stage or status: from where, to where, when and by whom. */
export const dealMoves = tenantTable(
  'deal_moves',
  {
    id: id('mov').notNull(),
    dealId: id('dea').notNull(),
    // No foreign keys from here on: where a deal once was outlives the stage, and who moved it the person.
    fromPipelineId: id('pip').notNull(),
    fromStageId: id('stg').notNull(),
    fromStatus: text({ enum: dealStatuses }).notNull(),
    toPipelineId: id('pip').notNull(),
    toStageId: id('stg').notNull(),
    toStatus: text({ enum: dealStatuses }).notNull(),
    userId: id('usr'),
    apiKeyId: id('key'),
    createdAt: createdAt(),
  },
  {
    key: ['id'],
    ownedBy: { dealId: deals },
    extra: (t) => [index('deal_moves_deal_index').on(t.workspaceId, t.dealId, t.createdAt, t.id)],
  },
)
