/** What a simulation reads and changes itself: open work, claims, heartbeats. */
import type { Database } from '@rapport/core/db/client.ts'
import { uuidOf } from '@rapport/core/kernel/ids.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import type { WorkKind } from '@rapport/core/work/kinds.ts'
import { drainId } from '@rapport/core/work/queues.ts'
import type { SimulatedWork } from './world.ts'

export async function readOpenWork({ pool }: Database, { workspaceId }: Ctx): Promise<SimulatedWork[]> {
  const { rows } = await pool.query<{ id: string; kind: WorkKind }>(
    `select id, kind from work where workspace_id = $1 union
     select $2::uuid, 'DRAIN' from deliveries where workspace_id = $1 and status = 'PENDING' order by kind, id`,
    [uuidOf(workspaceId), drainId],
  )
  return rows.map((row) => ({ workspaceId, ...row }))
}

/** Lists the claims without an owner: after all work has ended, there are none. */
export async function listClaims({ pool }: Database, { workspaceId }: Ctx): Promise<string[]> {
  const { rows } = await pool.query<{ claim: string }>(
    `select kind as claim from work where workspace_id = $1 and (token is not null or kind = 'DRAIN')
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
  // On a busy machine, the server ends the transactions of killed workers late.
  await pool.query(`
    set local lock_timeout = '1min';
    set local statement_timeout = '2min';
    delete from work;
    update mails set status = 'FAILED' where status = 'PENDING';
    update campaign_recipients set status = 'FAILED' where status = 'SENDING'`)
}
