import { recordHeartbeat } from '@rapport/core/jobs/worker-registry.ts'
import { type WorkerDeps, runExclusively } from './worker-deps.ts'
import { recoverOrphanedClaims, releaseOrphanedClaim, findClaims } from '@rapport/core/operations/orphaned-claims.ts'

/** At each interval: records the heartbeat, and recovers the orphaned claims of crashed workers and of this worker. */
export function startHeartbeat(deps: WorkerDeps): { stop(): Promise<void> } {
  let running: Promise<void> | undefined
  const releaseOwnOrphanedClaims = trackOrphanedClaims(deps)
  async function runOnce() {
    try {
      await recordHeartbeat(deps.db, deps.workerId)
      const interrupted = await recoverOrphanedClaims(deps.db, deps.timings.heartbeatTimeoutMs)
      deps.metrics.countInterrupted(interrupted)
      if (interrupted.deliveries > 0 || Object.keys(interrupted.mails).length > 0) {
        deps.log.warn(interrupted, 'recovered claims of a crashed worker: its work in flight is INTERRUPTED')
      }
      await releaseOwnOrphanedClaims()
    } catch (error) {
      deps.log.warn({ err: error }, 'heartbeat failed')
    } finally {
      running = undefined
    }
  }
  const timer = setInterval(() => void (running ??= runOnce()), deps.timings.heartbeatIntervalMs)
  return {
    async stop() {
      clearInterval(timer)
      await running
    },
  }
}

/**
 * Returns a function that releases the orphaned claims of this worker: claims in the database without an active job in
 * this process. A claim is orphaned when its outcome could not be recorded, or when it was committed after the job had
 * timed out. Other workers do not recover these claims while this worker sends heartbeats. A claim counts as orphaned
 * after two consecutive calls, because a job may have ended between the query and the check.
 */
export function trackOrphanedClaims(
  deps: Pick<WorkerDeps, 'db' | 'workerId' | 'activeJobs' | 'metrics'>,
): () => Promise<void> {
  let inactiveBefore = new Set<string>()
  return async () => {
    const claimed = await findClaims(deps.db, deps.workerId)
    const inactive = claimed.filter((uuid) => !deps.activeJobs.has(uuid))
    const orphaned = inactive.filter((uuid) => inactiveBefore.has(uuid))
    inactiveBefore = new Set(inactive)
    for (const uuid of orphaned) {
      // A new job for the same record has started. Waiting for it would delay the heartbeat.
      if (deps.activeJobs.has(uuid)) continue
      await runExclusively(deps, uuid, async () => {
        deps.metrics.countInterrupted(await releaseOrphanedClaim(deps.db, deps.workerId, uuid))
      })
    }
  }
}
