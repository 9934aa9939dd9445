import {
  type Recovered,
  recoverOrphanedClaims,
  recoverOwnClaims,
} from '@rapport/core/operations/recovery/recover-claims.ts'
import { recordHeartbeat } from '@rapport/core/work/worker-registry.ts'
import type { WorkerDeps } from './worker-deps.ts'

export type HeartbeatDeps = Pick<WorkerDeps, 'db' | 'workerId' | 'timings' | 'log' | 'metrics' | 'liveClaims'>

/**
 * At each interval: records the heartbeat, and recovers the orphaned claims of crashed workers and of this worker. A
 * recovery begins after a heartbeat, so that it does not take this worker for crashed, and delays no further one: each
 * claim that a transaction has locked takes three seconds.
 */
export function startHeartbeat(deps: HeartbeatDeps): { stop(): Promise<void> } {
  let recording: Promise<void> | undefined
  let recovering: Promise<void> | undefined
  async function record() {
    try {
      await recordHeartbeat(deps.db, deps.workerId)
      recovering ??= recover(deps).finally(() => (recovering = undefined))
    } catch (error) {
      deps.log.warn({ err: error }, 'heartbeat failed')
    } finally {
      recording = undefined
    }
  }
  const timer = setInterval(() => void (recording ??= record()), deps.timings.heartbeatIntervalMs)
  return {
    async stop() {
      clearInterval(timer)
      await recording
      await recovering
    },
  }
}

async function recover(deps: HeartbeatDeps): Promise<void> {
  try {
    const crashed = await recoverOrphanedClaims(deps.db, deps.timings.heartbeatTimeoutMs)
    const { deliveries, mails } = crashed
    if (deliveries > 0 || Object.keys(mails).length > 0) {
      const message = 'recovered claims of a crashed worker: its work in flight is INTERRUPTED'
      deps.log.warn({ deliveries, mails }, message)
    }
    reportRecovered(deps, crashed)
    reportRecovered(deps, await recoverUnknownClaims(deps))
  } catch (error) {
    deps.log.warn({ err: error }, 'recovery of claims failed')
  }
}

/** Counts what became INTERRUPTED, and logs which claims are left to the next heartbeat of any worker. */
export function reportRecovered({ metrics, log }: Pick<WorkerDeps, 'metrics' | 'log'>, recovered: Recovered): void {
  metrics.countInterrupted(recovered)
  for (const err of recovered.errors) log.warn({ err }, 'a claim could not be recovered; retrying')
}

/** Recovers claims of this worker that no job of the process has: see `recoverOwnClaims`. */
export function recoverUnknownClaims({ db, workerId, liveClaims }: Pick<WorkerDeps, 'db' | 'workerId' | 'liveClaims'>) {
  const isLive = (token: string) => [...liveClaims].some(({ tokens }) => tokens.includes(token))
  return recoverOwnClaims(db, { workerId, isLive })
}
