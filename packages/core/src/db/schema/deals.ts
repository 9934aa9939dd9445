import { sql } from 'drizzle-orm'
import { bigint, check, date, foreignKey, index, jsonb, text, type AnyPgColumn } from 'drizzle-orm/pg-core'
import { timestamptz, createdAt, oneOf, id } from './columns.ts'
import { tenantTable } from './tenant-table.ts'
import { companies } from './companies.ts'
import { stages } from './pipelines.ts'

export const dealStatuses = ['OPEN', 'WON', 'LOST'] as const

/** The sort key of `closedAt`: open deals come first. */
export const closingOrder = (closedAt: AnyPgColumn) => sql`coalesce(${closedAt}, '-infinity'::timestamptz)`

export const deals = tenantTable(
  'deals',
  {
    id: id('dea').notNull(),
    pipelineId: id('pip').notNull(),
    stageId: id('stg').notNull(),
    /** No foreign key: a deal that is closed, or with a company, outlives its contact. A statement that writes it locks the contact. */
    contactId: id('con').notNull(),
    /** A company that has deals cannot be deleted. */
    companyId: id('cpy'),
    /** When the contact was erased: `contactId` finds no contact then, and the deal is guarded by its own lock. */
    contactErasedAt: timestamptz(),
    /** The contacts that the deal had before, in whose timelines it has events. The erasure of the contact needs them. */
    formerContactIds: id('con').array().notNull().default([]),
    name: text().notNull().default(''),
    valueCents: bigint({ mode: 'number' }).notNull().default(0),
    status: text({ enum: dealStatuses }).notNull().default('OPEN'),
    closedAt: timestamptz(),
    /** No foreign key: see `named-members.ts`. */
    ownerId: id('usr'),
    expectedCloseOn: date(),
    lostReason: text(),
    customFieldValues: jsonb().$type<Record<string, string | number | boolean>>().notNull().default({}),
    createdAt: createdAt(),
    updatedAt: createdAt(),
  },
  {
    key: ['id'],
    references: { companyId: companies },
    extra: (t) => [
      // One foreign key for both: the stage always belongs to the pipeline of the deal.
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
      index('deals_company_index')
        .on(t.workspaceId, t.companyId, t.createdAt, t.id)
        .where(sql`${t.companyId} is not null`),
      index('deals_owner_index').on(t.workspaceId, t.ownerId, t.createdAt, t.id).where(sql`${t.ownerId} is not null`),
      index('deals_expected_index')
        .on(t.workspaceId, t.expectedCloseOn, t.id)
        .where(sql`${t.expectedCloseOn} is not null`),
      index('deals_erased_index').on(t.workspaceId, t.createdAt, t.id).where(sql`${t.contactErasedAt} is not null`),
      // Partial, as most deals have none, so that these cost no entry. `list-deals.ts` repeats the condition.
      index('deals_custom_fields_index')
        .using('gin', t.workspaceId, t.customFieldValues.op('jsonb_path_ops'))
        .where(sql`${t.customFieldValues} <> '{}'`),
      // Include what the totals of a pipeline need, so that these come from index-only scans.
      index('deals_open_index')
        .on(t.workspaceId, t.pipelineId, t.stageId, t.valueCents, t.ownerId, t.expectedCloseOn)
        .where(sql`${t.status} = 'OPEN'`),
      index('deals_closed_sums_index')
        .on(t.workspaceId, t.pipelineId, t.closedAt, t.status, t.ownerId, t.lostReason, t.valueCents)
        .where(sql`${t.status} <> 'OPEN'`),
      oneOf('deals_status_check', t.status, dealStatuses),
      check('deals_closed_check', sql`(${t.status} = 'OPEN') = (${t.closedAt} is null)`),
      check('deals_lost_check', sql`${t.lostReason} is null or ${t.status} = 'LOST'`),
      check('deals_value_check', sql`${t.valueCents} between 0 and 9007199254740991`),
    ],
  },
)

/** The history of a deal: one row for each change of its stage or status. */
export const dealMoves = tenantTable(
  'deal_moves',
  {
    id: id('mov').notNull(),
    dealId: id('dea').notNull(),
    // No foreign keys below: the history outlives the stages, users and API keys that it names.
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
