/** Events as the timelines of contacts and companies show them. */
import { z } from 'zod'
import type { events } from '../db/schema/index.ts'
import { RecordId } from '../kernel/ids.ts'
import { Timestamp } from '../kernel/values/timestamps.ts'
import { PageQuery, Sort } from '../request/paging.ts'

export const Activity = z
  .object({
    id: RecordId('evt'),
    type: z.string().describe('The event type, such as `contact.created`.'),
    timestamp: Timestamp.describe('When the event was emitted.'),
    data: z.unknown().describe('The record at that time. `GET /event-types` has the schema for each type.'),
  })
  .meta({
    id: 'Activity',
    description: 'An event of a contact or company. The schema of `data` depends on `type`.',
  })
export type Activity = z.output<typeof Activity>

export const ActivityQuery = PageQuery.extend({ sort: Sort(['createdAt']) })
export type ActivityQuery = z.output<typeof ActivityQuery>

export type EventRow = typeof events.$inferSelect

export function toActivity(row: EventRow): Activity {
  return { id: row.id, type: row.type, timestamp: row.createdAt, data: row.data }
}
