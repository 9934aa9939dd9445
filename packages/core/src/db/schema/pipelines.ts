import { sql } from 'drizzle-orm'
import { check, index, integer, text, unique } from 'drizzle-orm/pg-core'
import { createdAt, id } from './columns.ts'
import { tenantTable } from './tenant-table.ts'

export const pipelines = tenantTable(
  'pipelines',
  {
    id: id('pip').notNull(),
    name: text().notNull(),
    createdAt: createdAt(),
    updatedAt: createdAt(),
  },
  { key: ['id'], extra: (t) => [index('pipelines_created_index').on(t.workspaceId, t.createdAt, t.id)] },
)

export const stages = tenantTable(
  'stages',
  {
    id: id('stg').notNull(),
    pipelineId: id('pip').notNull(),
    name: text().notNull(),
    position: integer().notNull(),
    /** In percent. */
    winProbability: integer().notNull(),
  },
  {
    key: ['id'],
    ownedBy: { pipelineId: pipelines },
    extra: (t) => [
      // The target of a deal's foreign key, which ensures that the stage belongs to the pipeline.
      unique('stages_pipeline_key').on(t.workspaceId, t.pipelineId, t.id),
      unique('stages_position_key').on(t.workspaceId, t.pipelineId, t.position),
      check('stages_win_probability_check', sql`${t.winProbability} between 0 and 100`),
    ],
  },
)
