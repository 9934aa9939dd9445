import type { WorkspaceId } from '@rapport/core/kernel/ids.ts'

/** How many requests a workspace may have out in one worker. */
export const maxRequestsPerWorkspace = 20

/** The requests that one drain has out, as a part of its workspace's. */
export interface DrainRequests {
  /**
   * Reserves requests and returns how many the drain may have out in all: `wanted`, at most its share of the workspace's,
   * and not more than the other drains of the workspace leave.
   */
  reserve(wanted: number): number
  /** Gives back what was reserved and is not out. */
  setOut(count: number): void
  /** Resolves when another drain of the workspace has given some back. */
  whenGivenBack(): Promise<void>
  close(): void
}

export interface RequestCapacity {
  open(workspaceId: WorkspaceId): DrainRequests
}

/** Limits the requests that a workspace has out in this worker. Its drains share them equally. */
export function createRequestCapacity(maxPerWorkspace = maxRequestsPerWorkspace): RequestCapacity {
  interface Drain {
    out: number
    givenBack: PromiseWithResolvers<void>
  }
  const drainsOf = new Map<WorkspaceId, Set<Drain>>()

  function open(workspaceId: WorkspaceId): DrainRequests {
    const drains = drainsOf.get(workspaceId) ?? new Set<Drain>()
    const own: Drain = { out: 0, givenBack: Promise.withResolvers() }
    drainsOf.set(workspaceId, drains.add(own))

    function setOut(count: number): void {
      const hasGivenBack = count < own.out
      own.out = count
      if (!hasGivenBack) return
      for (const drain of drains) {
        drain.givenBack.resolve()
        drain.givenBack = Promise.withResolvers()
      }
    }

    return {
      reserve(wanted) {
        const outOfOthers = [...drains].reduce((sum, drain) => sum + (drain === own ? 0 : drain.out), 0)
        const share = Math.max(1, Math.floor(maxPerWorkspace / drains.size))
        own.out = Math.max(own.out, Math.min(wanted, share, maxPerWorkspace - outOfOthers))
        return own.out
      },
      setOut,
      whenGivenBack: () => own.givenBack.promise,
      close() {
        setOut(0)
        drains.delete(own)
        if (drains.size === 0) drainsOf.delete(workspaceId)
      },
    }
  }

  return { open }
}
