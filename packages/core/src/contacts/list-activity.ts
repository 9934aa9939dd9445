import { and, eq } from 'drizzle-orm'
import type { Ctx } from '../request/context.ts'
import { toTimestamp } from '../kernel/validation.ts'
import type { ContactId } from '../kernel/ids.ts'
import { byCreation, type Page, readPage } from '../request/paging.ts'
import { events } from '../db/schema/index.ts'
import type { Activity, ActivityQuery } from './contacts.schema.ts'
import { readContact } from './read-contact.ts'

type EventRow = typeof events.$inferSelect

export async function listActivity(ctx: Ctx, id: ContactId, query: ActivityQuery): Promise<Page<Activity>> {
  await readContact(ctx, id)
  const page = await readPage<EventRow>(ctx, {
    name: `activity ${id}`,
    query,
    ...byCreation<EventRow>(events),
    read: ({ after, orderBy, limit }) =>
      ctx.db
        .select()
        .from(events)
        .where(and(eq(events.workspaceId, ctx.workspaceId), eq(events.contactId, id), after))
        .orderBy(...orderBy)
        .limit(limit),
  })
  return { ...page, data: page.data.map(toActivity) }
}

function toActivity(row: EventRow): Activity {
  return { id: row.id, type: row.type, timestamp: toTimestamp(row.createdAt), data: row.data }
}
