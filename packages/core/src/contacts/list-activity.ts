import { and, eq, getTableColumns, sql } from 'drizzle-orm'
import type { Ctx } from '../request/context.ts'
import type { ContactId } from '../kernel/ids.ts'
import { byCreation, type Page, readPage } from '../request/paging.ts'
import { isCreatedInRange } from '../request/time-range.ts'
import { events } from '../db/schema/index.ts'
import { type Activity, type ActivityQuery, type EventRow, toActivity } from '../events/activity.ts'
import { selectMergedIds } from './contact-aliases.ts'
import { readContact } from './read-contact.ts'

/** Lists the events of a contact and of the contacts that were merged into it. */
export async function listActivity(ctx: Ctx, id: ContactId, query: ActivityQuery): Promise<Page<Activity>> {
  await readContact(ctx, id)
  const page = await readPage<EventRow>(ctx, {
    name: `activity ${id}`,
    query,
    ...byCreation<EventRow>(events),
    read: ({ after, orderBy, limit }) => {
      // One index scan per contact reads at most a page. `contact_id in (…)` would read and sort all events of all of
      // them.
      const ofContact = ctx.db
        .select()
        .from(events)
        .where(
          and(
            eq(events.workspaceId, ctx.workspaceId),
            sql`${events.contactId} = merged.id`,
            isCreatedInRange(events, query),
            after,
          ),
        )
        .orderBy(...orderBy)
        .limit(limit)
        .as('events')
      return ctx.db
        .select(getTableColumns(events))
        .from(sql`(${selectMergedIds(ctx, id)}) as merged`)
        .crossJoinLateral(ofContact)
        .orderBy(...orderBy)
        .limit(limit)
    },
  })
  return { ...page, data: page.data.map(toActivity) }
}
