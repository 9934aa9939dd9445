/** Emails that are too old to be sent when their template is activated. */
import { randomUUID } from 'node:crypto'
import { getTableColumns, sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import { emails, work } from '../db/schema/index.ts'
import { namedStatement } from '../db/statements/named-statement.ts'
import { transaction } from '../db/transaction.ts'
import { uuidOf, type WorkspaceId } from '../kernel/ids.ts'
import { isAmongStoppedWorkspaces } from '../request/workspace-state.ts'
import { endEmails } from './record-emails.ts'

const reason = 'The email was accepted more than 24 hours ago, and its template is PAUSED'

/**
 * A condition on a row of `work`: its email is parked. As long as a temporary refusal may delay it, a PAUSED template may,
 * too: later, a link in it has expired.
 */
const isExpired = sql`
  work.kind = 'EMAIL' and work.due_at is null and work.token is null
    and work.created_at < now() - interval '24 hours'`

/**
 * Ends up to 1,000 emails of each workspace that were accepted more than 24 hours ago and whose template is PAUSED: they
 * become FAILED. Returns their number. Those of suspended workspaces wait.
 */
export async function expireEmails(db: Db): Promise<number> {
  let expired = 0
  for (const { workspaceId } of await findWorkspaces(db, {})) expired += await expireEmailsOf(db, workspaceId)
  return expired
}

const findWorkspaces = namedStatement('find workspaces with expired emails', {
  params: {},
  columns: { workspaceId: work.workspaceId },
  sql: () => sql`select distinct workspace_id from work where ${isExpired} and not (${isAmongStoppedWorkspaces})`,
})

function expireEmailsOf(db: Db, workspaceId: WorkspaceId): Promise<number> {
  return transaction(db, async (db) => {
    const expired = await lockExpired(db, { workspaceId })
    await endEmails(
      { db, workspaceId, requestId: randomUUID() },
      expired.map(({ requestId, traceparent, ...email }) => ({
        email: { ...email, status: 'FAILED', reason },
        origin: { requestId: requestId ?? uuidOf(email.id), ...(traceparent !== null && { traceparent }) },
      })),
    )
    return expired.length
  })
}

/** No job claims them meanwhile. An activation of the template waits for the locks, and then requeues none of them. */
const lockExpired = namedStatement('lock expired emails', {
  params: { workspaceId: emails.workspaceId },
  columns: { ...getTableColumns(emails), requestId: work.requestId, traceparent: work.traceparent },
  sql: ({ workspaceId }) => sql`
    select e.*, work.request_id, work.traceparent from emails e
    join work on work.workspace_id = e.workspace_id and work.id = e.id
    where e.workspace_id = ${workspaceId} and e.status = 'PENDING' and ${isExpired}
    order by e.id limit 1000 for update`,
})
