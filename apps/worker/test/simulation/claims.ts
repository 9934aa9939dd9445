/** What a simulation reads and changes itself: open work, claims, heartbeats. */
import type { Database } from '@rapport/core/db/client.ts'
import { uuidOf } from '@rapport/core/kernel/ids.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import type { WorkKind } from '@rapport/core/work/kinds.ts'
import type { SimulatedWork } from './world.ts'

export async function readOpenWork({ pool }: Database, { workspaceId }: Ctx): Promise<SimulatedWork[]> {
  const { rows } = await pool.query<{ id: string; kind: WorkKind | null }>(
    `select id, kind from work where workspace_id = $1 union
     select webhook_id, null from deliveries where workspace_id = $1 and status = 'PENDING' order by kind, id`,
    [uuidOf(workspaceId)],
  )
  return rows.map(({ id, kind }) => ({ workspaceId, id, ...(kind && { kind }) }))
}

/** Lists the claims without an owner: after all work has ended, there are none. */
export async function listClaims({ pool }: Database, { workspaceId }: Ctx): Promise<string[]> {
  const { rows } = await pool.query<{ claim: string }>(
    `select 'drain' as claim from webhook_drains
     where workspace_id = $1 and (token is not null or worker_id is not null or delivery_ids <> '{}')
     union all select kind from work where token is not null and workspace_id = $1
     union all select 'recipient' from campaign_recipients where status = 'SENDING' and workspace_id = $1`,
    [uuidOf(workspaceId)],
  )
  return rows.map(({ claim }) => `a claim is left: ${claim}`)
}

/** Makes a worker count as crashed. Does not wait for a statement that changes or deletes its row at the moment. */
export async function expireHeartbeat({ pool }: Database, workerId: string): Promise<void> {
  await pool.query(
    `update workers set seen_at = now() - interval '1 hour'
     where id = (select id from workers where id = $1 for update skip locked)`,
    [workerId],
  )
}

/** A failed run leaves claims, which the recovery of the next one would find. */
export async function resetClaims({ pool }: Database): Promise<void> {
  await pool.query(`
    delete from work;
    update webhook_drains set worker_id = null, token = null, delivery_ids = '{}' where worker_id is not null;
    update mails set status = 'FAILED' where status = 'PENDING';
    update campaign_recipients set status = 'FAILED' where status = 'SENDING'`)
}
