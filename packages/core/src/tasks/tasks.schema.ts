import { z } from 'zod'
import { TimestampInput, MultiLine, SingleLine, Timestamp } from '../kernel/validation.ts'
import { Id, RecordId } from '../kernel/ids.ts'
import { PageQuery, SortBy } from '../request/paging.ts'
import { taskStatuses } from '../db/schema/index.ts'

export const Task = z
  .object({
    id: RecordId('tsk'),
    contactId: RecordId('con'),
    title: z.string(),
    notes: z.string(),
    status: z.enum(taskStatuses),
    dueAt: Timestamp.nullable(),
    assigneeId: RecordId('usr').nullable(),
    completedAt: Timestamp.nullable(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
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
  title: SingleLine(300, 1),
  notes: MultiLine(20_000),
  dueAt: TimestampInput.nullable(),
  assigneeId: Id('usr').nullable().describe('The `id` of a user who is a member of the workspace'),
}

export const TaskInput = z
  .strictObject({
    title: writable.title,
    notes: writable.notes.default(''),
    dueAt: writable.dueAt.default(null),
    assigneeId: writable.assigneeId.default(null),
  })
  .meta({ examples: [{ title: 'Call back', dueAt: '2026-11-27T09:00:00Z' }] })
export type TaskInput = z.output<typeof TaskInput>

export const TaskChange = z
  .strictObject({
    ...writable,
    status: z.enum(taskStatuses),
  })
  .partial()
  .meta({ examples: [{ status: 'DONE' }] })
export type TaskChange = z.output<typeof TaskChange>

export const TaskQuery = PageQuery.extend({
  status: z.enum(taskStatuses).optional(),
  dueBefore: TimestampInput.optional(),
  dueAfter: TimestampInput.optional(),
  assigneeId: Id('usr').optional(),
  sort: SortBy(['dueAt', 'createdAt'])
    .default('dueAt')
    .describe('`dueAt` starts with the longest overdue task. Tasks without `dueAt` follow, and DONE tasks are last.'),
})
export type TaskQuery = z.output<typeof TaskQuery>
