import type { WorkspaceId } from '@rapport/core/kernel/ids.ts'

/** How many jobs of the queue `mail` a process runs at once. */
export const mailJobs = 10

/** Whose jobs: those for the emails of one workspace, or for other single mails. */
type JobSource = WorkspaceId | 'single'

export interface JobShares {
  /**
   * Whether a job may run; if so, it calls `end`. If not, its work is left to the jobs of the workspace that run. Other
   * single mails always may.
   */
  begin(source: JobSource, id: string): boolean
  /** Takes work that was left, at most `limit` of it. */
  takeLeft(workspaceId: WorkspaceId, limit: number): string[]
  /** Returns what was left, if none of the jobs runs any more. */
  end(source: JobSource): string[]
}

/**
 * Shares the jobs that a process runs at once. Emails of a workspace run in fewer than are free: of ten, one workspace has
 * at most five, and two have eight. So mails at which a server hangs leave jobs to other workspaces, as they leave
 * connections: see `connection-slots.ts`.
 */
export function createJobShares(concurrency: number): JobShares {
  const running = new Map<JobSource, number>()
  const left = new Map<JobSource, Set<string>>()
  const countOf = (source: JobSource) => running.get(source) ?? 0
  const countFree = () => [...running.values()].reduce((free, count) => free - count, concurrency)
  return {
    begin(source, id) {
      const own = countOf(source)
      if (source !== 'single' && own > 0 && own >= countFree()) {
        left.set(source, (left.get(source) ?? new Set()).add(id))
        return false
      }
      running.set(source, own + 1)
      return true
    },
    takeLeft(workspaceId, limit) {
      const ids = left.get(workspaceId)
      const taken = [...(ids ?? [])].slice(0, limit)
      for (const id of taken) ids?.delete(id)
      return taken
    },
    end(source) {
      const own = countOf(source) - 1
      if (own > 0) {
        running.set(source, own)
        return []
      }
      running.delete(source)
      const rest = [...(left.get(source) ?? [])]
      left.delete(source)
      return rest
    },
  }
}
