import { beat, heartbeatMs } from '@rapport/core/jobs/worker-registry.ts'
import { type Tools, whileInHand } from './tools.ts'
import { buryDeadWorkers, dropClaim, findClaims } from '@rapport/core/operations/dead-worker-recovery.ts'

/** Shows that this worker lives, and sets right what dead ones left, and what it lost hold of itself. */
export function startHeart(tools: Tools): { stop(): Promise<void> } {
  let beating: Promise<void> | undefined
  const dropLostClaims = watchClaims(tools)
  async function beatOnce() {
    try {
      await beat(tools.db, tools.workerId)
      const interrupted = await buryDeadWorkers(tools.db)
      tools.metrics.countInterrupted(interrupted)
      if (interrupted.deliveries + interrupted.mails > 0) {
        tools.log.warn(interrupted, 'a worker died: what it had out is INTERRUPTED')
      }
      await dropLostClaims()
    } catch (error) {
      tools.log.warn({ err: error }, 'the heartbeat failed')
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
export function watchClaims(tools: Pick<Tools, 'db' | 'workerId' | 'inHand' | 'metrics'>): () => Promise<void> {
  let suspects = new Set<string>()
  return async () => {
    const held = await findClaims(tools.db, tools.workerId)
    const missing = held.filter((uuid) => !tools.inHand.has(uuid))
    const lost = missing.filter((uuid) => suspects.has(uuid))
    suspects = new Set(missing)
    for (const uuid of lost) {
      await whileInHand(tools, uuid, async () => {
        tools.metrics.countInterrupted(await dropClaim(tools.db, tools.workerId, uuid))
      })
    }
  }
}
