import { sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import { uuidOf, type WorkspaceId } from '../kernel/ids.ts'
import type { WorkJob } from '../jobs/queues.ts'

/**
 * A delivery was not claimed. If it is over, so is its work. If it waits for a webhook that is disabled or deleted, it
 * has FAILED without an attempt, and so has all else that waits for that webhook, a part at a time. And so has one whose
 * event is not there, which nothing here brings about: no foreign key forbids it.
 */
export async function abandonDelivery(db: Db, job: WorkJob): Promise<void> {
  for (let ids = [job.id]; ids.length > 0; ) {
    const failed = await failUnwanted(db, job.workspaceId, ids)
    ids = failed === undefined ? [] : await readLane(db, failed)
  }
}

/** Ends the work of what is over or unwanted. Answers the webhook when anything was unwanted. */
async function failUnwanted(db: Db, workspaceId: WorkspaceId, ids: readonly string[]): Promise<string | undefined> {
  const result = await db.execute<{ webhook: string | null }>(sql`
    with unwanted as (
      select d.workspace_id, d.id, w.id as webhook,
        case when w.enabled then 'The event is gone'
          when w.deleted_at is null then 'The webhook was disabled' else 'The webhook was deleted' end as why
      from deliveries d join webhooks w on w.workspace_id = d.workspace_id and w.id = d.webhook_id
      where d.workspace_id = ${uuidOf(workspaceId)} and d.id = any(${sql.param([...ids])}::uuid[])
        and d.status = 'PENDING' and (not w.enabled or not exists (
          select from events e where e.workspace_id = d.workspace_id and e.id = d.event_id))
      order by d.id for update of d),
    failed as (
      update deliveries d set status = 'FAILED', error = why
      from unwanted where d.workspace_id = unwanted.workspace_id and d.id = unwanted.id
      returning d.id, webhook),
    done as (
      delete from outbox where id in (select id from failed))
    select webhook from failed limit 1`)
  await db.execute(sql`
    delete from outbox o where o.id = any(${sql.param([...ids])}::uuid[]) and not exists (
      select from deliveries d
      where d.workspace_id = ${uuidOf(workspaceId)} and d.id = o.id and d.status in ('PENDING', 'SENDING'))`)
  return result.rows[0]?.webhook ?? undefined
}

async function readLane(db: Db, webhook: string): Promise<string[]> {
  const result = await db.execute<{ id: string }>(sql`
    select id from outbox where lane = ${webhook} and relayed_epoch is null order by created_at, id limit 500`)
  return result.rows.map((row) => row.id)
}
