import { sql } from 'drizzle-orm'
import { check, index, text, type AnyPgColumn } from 'drizzle-orm/pg-core'
import { timestamptz, createdAt, oneOf, id } from './columns.ts'
import { tenantTable } from './tenant-table.ts'
import { contacts } from './contacts.ts'

export const taskStatuses = ['OPEN', 'DONE'] as const

/** The sort key of `dueAt`: open tasks by due date, then open tasks without one, then done tasks. */
export const dueOrder = (t: Record<'status' | 'dueAt', AnyPgColumn>) =>
  sql`(case when ${t.status} = 'OPEN' then coalesce(${t.dueAt}, '10000-01-01 00:00:00+00'::timestamptz) else 'infinity'::timestamptz end)`

export const tasks = tenantTable(
  'tasks',
  {
    id: id('tsk').notNull(),
    contactId: id('con').notNull(),
    title: text().notNull(),
    notes: text().notNull().default(''),
    status: text({ enum: taskStatuses }).notNull().default('OPEN'),
    dueAt: timestamptz(),
    /** No foreign key: see `named-members.ts`. */
    assigneeId: id('usr'),
    completedAt: timestamptz(),
    createdAt: createdAt(),
    updatedAt: createdAt(),
  },
  {
    key: ['id'],
    ownedBy: { contactId: contacts },
    extra: (t) => [
      index('tasks_created_index').on(t.workspaceId, t.createdAt, t.id),
      index('tasks_order_index').on(t.workspaceId, dueOrder(t), t.id),
      index('tasks_due_index').on(t.workspaceId, t.dueAt),
      index('tasks_contact_index').on(t.workspaceId, t.contactId, dueOrder(t), t.id),
      index('tasks_assignee_index').on(t.workspaceId, t.assigneeId, dueOrder(t), t.id),
      oneOf('tasks_status_check', t.status, taskStatuses),
      check('tasks_completed_check', sql`(${t.status} = 'OPEN') = (${t.completedAt} is null)`),
    ],
  },
)
