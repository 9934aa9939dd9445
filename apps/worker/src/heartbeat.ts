import { recordHeartbeat, heartbeatIntervalMs } from '@rapport/core/jobs/worker-registry.ts'
import { type WorkerDeps, runExclusively } from './worker-deps.ts'
import { recoverOrphanedClaims, releaseOrphanedClaim, findClaims } from '@rapport/core/operations/orphaned-claims.ts'

/**
 * At each interval: records the heartbeat, recovers the claims of dead workers, and drops this worker's lost claims.
 */
export function startHeartbeat(deps: WorkerDeps): { stop(): Promise<void> } {
  let beating: Promise<void> | undefined
  const dropLostClaims = watchClaims(deps)
  async function beatOnce() {
    try {
      await recordHeartbeat(deps.db, deps.workerId)
      const interrupted = await recoverOrphanedClaims(deps.db)
      deps.metrics.countInterrupted(interrupted)
      if (interrupted.deliveries + interrupted.mails > 0) {
        deps.log.warn(interrupted, 'a worker died: what it had out is INTERRUPTED')
      }
      await dropLostClaims()
    } catch (error) {
      deps.log.warn({ err: error }, 'the heartbeat failed')
    } finally {
      beating = undefined
    }
  }
  const timer = setInterval(() => void (beating ??= beatOnce()), heartbeatIntervalMs)
  return {
    async stop() {
      clearInterval(timer)
      await beating
    },
  }
}

/**
 * Returns a function that drops the lost claims of this worker: claims in the database that none of its jobs is working
 * on. Either an outcome could not be recorded, or the claim was committed after the job had timed out. While this
 * worker is alive, no other worker recovers them. A claim counts as lost if two calls in a row find it, because at the
 * first one the response to the claim may still be on its way.
 */
export function watchClaims(deps: Pick<WorkerDeps, 'db' | 'workerId' | 'activeJobs' | 'metrics'>): () => Promise<void> {
  let suspects = new Set<string>()
  return async () => {
    const held = await findClaims(deps.db, deps.workerId)
    const missing = held.filter((uuid) => !deps.activeJobs.has(uuid))
    const lost = missing.filter((uuid) => suspects.has(uuid))
    suspects = new Set(missing)
    for (const uuid of lost) {
      // A new job of the same subject: the next heartbeat decides. To wait for it here would delay the heartbeat.
      if (deps.activeJobs.has(uuid)) continue
      await runExclusively(deps, uuid, async () => {
        deps.metrics.countInterrupted(await releaseOrphanedClaim(deps.db, deps.workerId, uuid))
      })
    }
  }
}
