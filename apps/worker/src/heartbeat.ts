import { recordHeartbeat, heartbeatMs } from '@rapport/core/jobs/worker-registry.ts'
import { type WorkerDeps, runExclusively } from './worker-deps.ts'
import { recoverOrphanedClaims, dropClaim, findClaims } from '@rapport/core/operations/dead-worker-recovery.ts'

/** Shows that this worker lives, and sets right what dead ones left, and what it lost hold of itself. */
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
  const timer = setInterval(() => void (beating ??= beatOnce()), heartbeatMs)
  return {
    async stop() {
      clearInterval(timer)
      await beating
    },
  }
}

/**
 * What this worker holds by the database, but not in hand: an outcome that could not be recorded while the database was
 * away for too long, or a claim that the server made after its caller had given it up. As the worker lives, nobody
 * else would ever set it right. Lost is what two calls in a row have found, as the answer that tells of a claim may be
 * on its way.
 */
export function watchClaims(deps: Pick<WorkerDeps, 'db' | 'workerId' | 'activeJobs' | 'metrics'>): () => Promise<void> {
  let suspects = new Set<string>()
  return async () => {
    const held = await findClaims(deps.db, deps.workerId)
    const missing = held.filter((uuid) => !deps.activeJobs.has(uuid))
    const lost = missing.filter((uuid) => suspects.has(uuid))
    suspects = new Set(missing)
    for (const uuid of lost) {
      await runExclusively(deps, uuid, async () => {
        deps.metrics.countInterrupted(await dropClaim(deps.db, deps.workerId, uuid))
      })
    }
  }
}
