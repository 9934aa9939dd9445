import { sql } from 'drizzle-orm'
import type { StepResult } from '../kernel/erase-step.ts'
import { type ContactId, uuidOf } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import type { EmittedType } from './event-definition.ts'

const batchSize = 500
const deleted: EmittedType = 'contact.deleted'

/**
 * Redacts the next events of a deleted contact: `RedactedRecord` replaces their `data`. `contact.deleted` has only an
 * id. The JSON is a concatenation because Citus allows only immutable functions in an UPDATE; ids need no escaping.
 */
export async function redactEvents(ctx: Ctx, contactIds: readonly ContactId[]): Promise<StepResult> {
  // The ids come from a CTE, to prevent partition pruning: see `take-deliveries.ts`.
  const { rowCount } = await ctx.db.execute(sql`
    with found as materialized (
      select id from events
      where workspace_id = ${uuidOf(ctx.workspaceId)} and contact_id = any(${sql.param(contactIds.map(uuidOf))}::uuid[])
        and type <> ${deleted} and data ->> 'redacted' is null
      limit ${batchSize})
    update events e
    set data = ('{"id":"' || coalesce(data ->> 'id', data ->> 'contactId') || '","redacted":true}')::json
    where e.workspace_id = ${uuidOf(ctx.workspaceId)} and e.id = any(array(select id from found))`)
  return rowCount === batchSize ? { after: '' } : {}
}
