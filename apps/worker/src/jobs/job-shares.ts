import type { WorkspaceId } from '@rapport/core/kernel/ids.ts'

/** How many jobs of the queue `mail` a process runs at once. */
export const mailJobs = 10

export interface JobShares {
  /** Whether a job of the workspace may run. If so, it calls `end`. */
  begin(workspaceId: WorkspaceId): boolean
  end(workspaceId: WorkspaceId): void
  /** Leaves the work of a job to those of the workspace that run. Returns false if none runs any more. */
  leave(workspaceId: WorkspaceId): boolean
  /** Whether work was left to the jobs of the workspace since the last call. */
  takeLeft(workspaceId: WorkspaceId): boolean
}

/**
 * Shares the jobs that a process runs at once, of which each takes further work of its workspace along. A workspace runs
 * fewer than are free: of ten, one runs at most five, and two run eight. So mails at which a server hangs leave jobs to
 * other workspaces, as they leave connections: see `connection-slots.ts`.
 */
export function createJobShares(concurrency: number): JobShares {
  const running = new Map<WorkspaceId, number>()
  const left = new Set<WorkspaceId>()
  const countAll = () => [...running.values()].reduce((sum, count) => sum + count, 0)
  return {
    begin(workspaceId) {
      const own = running.get(workspaceId) ?? 0
      if (own > 0 && own >= concurrency - countAll()) return false
      running.set(workspaceId, own + 1)
      return true
    },
    end(workspaceId) {
      const own = running.get(workspaceId) ?? 0
      if (own > 1) running.set(workspaceId, own - 1)
      else {
        running.delete(workspaceId)
        // Of a job that failed: the poll publishes it.
        left.delete(workspaceId)
      }
    },
    leave(workspaceId) {
      if (!running.has(workspaceId)) return false
      left.add(workspaceId)
      return true
    },
    takeLeft: (workspaceId) => left.delete(workspaceId),
  }
}
