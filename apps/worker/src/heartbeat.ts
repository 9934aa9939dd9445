import { recordHeartbeat, heartbeatIntervalMs } from '@rapport/core/jobs/worker-registry.ts'
import { type WorkerDeps, runExclusively } from './worker-deps.ts'
import { recoverOrphanedClaims, releaseOrphanedClaim, findClaims } from '@rapport/core/operations/orphaned-claims.ts'

/**
 * At each interval: records the heartbeat, recovers the claims of dead workers, and drops this worker's lost claims.
 */
export function startHeartbeat(deps: WorkerDeps): { stop(): Promise<void> } {
  let running: Promise<void> | undefined
  const dropLostClaims = trackLostClaims(deps)
  async function runOnce() {
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
      running = undefined
    }
  }
  const timer = setInterval(() => void (running ??= runOnce()), heartbeatIntervalMs)
  return {
    async stop() {
      clearInterval(timer)
      await running
    },
  }
}

/**
 * Returns a function that drops the lost claims of this worker: claims in the database that none of its jobs is working
 * on. Either an outcome could not be recorded, or the claim was committed after the job had timed out. While this
 * worker is alive, no other worker recovers them. A claim counts as lost if two calls in a row find it, because at the
 * first one the response to the claim may still be on its way.
 */
export function trackLostClaims(
  deps: Pick<WorkerDeps, 'db' | 'workerId' | 'activeJobs' | 'metrics'>,
): () => Promise<void> {
  let inactiveBefore = new Set<string>()
  return async () => {
    const claimed = await findClaims(deps.db, deps.workerId)
    const inactive = claimed.filter((uuid) => !deps.activeJobs.has(uuid))
    const lost = inactive.filter((uuid) => inactiveBefore.has(uuid))
    inactiveBefore = new Set(inactive)
    for (const uuid of lost) {
      // A new job of the same subject: the next heartbeat decides. To wait for it here would delay the heartbeat.
      if (deps.activeJobs.has(uuid)) continue
      await runExclusively(deps, uuid, async () => {
        deps.metrics.countInterrupted(await releaseOrphanedClaim(deps.db, deps.workerId, uuid))
      })
    }
  }
}
