import { z } from 'zod'
import { CreatedAt, EmptyAsNull, MultiLine, SingleLine, TimestampInput, UpdatedAt } from '../kernel/validation.ts'
import { Timestamp } from '../kernel/values/timestamps.ts'
import { Id, RecordId } from '../kernel/ids.ts'
import { PageQuery, SortBy } from '../request/paging.ts'
import { timeRange } from '../request/time-range.ts'
import { taskStatuses } from '../db/schema/index.ts'

export const Task = z
  .object({
    id: RecordId('tsk'),
    contactId: RecordId('con'),
    title: z.string().describe('What to do.'),
    notes: z.string().describe('Details, as plain text. May be empty.'),
    status: z.enum(taskStatuses).describe('`OPEN` or `DONE`.'),
    dueAt: Timestamp.nullable().describe('When the task is due. `null` if it has no due date.'),
    assigneeId: RecordId('usr')
      .nullable()
      .describe('The member of the workspace who is assigned to the task. `null` if there is none.'),
    completedAt: Timestamp.nullable().describe('When the status became `DONE`. `null` while it is `OPEN`.'),
    createdAt: CreatedAt,
    updatedAt: UpdatedAt,
  })
  .meta({
    id: 'Task',
    description: 'A to-do for a contact. `assigneeId` is a member of the workspace.',
    examples: [
      {
        id: 'tsk_01kag7m3v9e8fs2t4w6x8y0z1b',
        contactId: 'con_01kag7m3v9e8fs2t4w6x8y0z1b',
        title: 'Call back',
        notes: '',
        status: 'OPEN',
        dueAt: '2026-11-27T09:00:00.000Z',
        assigneeId: null,
        completedAt: null,
        createdAt: '2026-11-21T06:35:49.123Z',
        updatedAt: '2026-11-21T06:35:49.123Z',
      },
    ],
  })
export type Task = z.output<typeof Task>

const writable = {
  title: SingleLine(300, 1).describe('What to do.'),
  notes: MultiLine(20_000).describe('Details, as plain text, at most 16 KiB.'),
  dueAt: EmptyAsNull(TimestampInput).describe('When the task is due. `null` or empty for no due date.'),
  assigneeId: Id('usr').nullable().describe('The id of a user who is a member of the workspace. `null` for none.'),
}

export const TaskInput = z
  .strictObject({
    title: writable.title,
    notes: writable.notes.default(''),
    dueAt: writable.dueAt.default(null),
    assigneeId: writable.assigneeId.default(null),
  })
  .meta({
    id: 'TaskCreate',
    description: 'A new task.',
    examples: [{ title: 'Call back', dueAt: '2026-11-27T09:00:00Z' }],
  })
export type TaskInput = z.output<typeof TaskInput>

export const TaskChange = z
  .strictObject({
    ...writable,
    status: z.enum(taskStatuses).describe('`DONE` sets `completedAt`; `OPEN` clears it.'),
  })
  .partial()
  .meta({
    id: 'TaskUpdate',
    description: 'The fields of the task to change. Omitted fields stay unchanged.',
    examples: [{ status: 'DONE' }],
  })
export type TaskChange = z.output<typeof TaskChange>

/** The query of the tasks of one contact. */
export const ContactTaskQuery = PageQuery.extend({
  status: z.enum(taskStatuses).optional().describe('Only tasks with this status.'),
  ...timeRange('due'),
  assigneeId: Id('usr').optional().describe('Only tasks that are assigned to this user.'),
  sort: SortBy(['dueAt', 'createdAt'])
    .default('dueAt')
    .describe(
      '`dueAt` starts with the longest overdue task. Tasks without `dueAt` follow, and DONE tasks are last, in the order of their creation.',
    ),
})
export type ContactTaskQuery = z.output<typeof ContactTaskQuery>

export const TaskQuery = ContactTaskQuery.extend({ contactId: Id('con').optional() })
export type TaskQuery = z.output<typeof TaskQuery>
