import type { WorkspaceId } from '@rapport/core/kernel/ids.ts'

/** How many requests a workspace may have out in one worker. */
export const maxRequestsPerWorkspace = 20

/** The requests that one drain has out, as a part of its workspace's. */
export interface DrainCapacity {
  /**
   * Reserves requests and returns how many the drain may have out in all: `wanted`, at most its share of the workspace's,
   * and not more than the other drains of the workspace leave.
   */
  reserve(wanted: number): number
  /** Gives back what was reserved and is not out. */
  setInFlight(count: number): void
  /** Resolves when another drain of the workspace has given some back. */
  whenReleased(): Promise<void>
  close(): void
}

export interface RequestCapacity {
  openDrain(workspaceId: WorkspaceId): DrainCapacity
}

/** Limits the requests that a workspace has out in this worker. Its drains share them equally. */
export function createRequestCapacity(maxPerWorkspace = maxRequestsPerWorkspace): RequestCapacity {
  interface Drain {
    inFlight: number
    released: PromiseWithResolvers<void>
  }
  const drainsByWorkspace = new Map<WorkspaceId, Set<Drain>>()

  function openDrain(workspaceId: WorkspaceId): DrainCapacity {
    const drains = drainsByWorkspace.get(workspaceId) ?? new Set<Drain>()
    const own: Drain = { inFlight: 0, released: Promise.withResolvers() }
    drainsByWorkspace.set(workspaceId, drains.add(own))

    function setInFlight(count: number): void {
      const hasReleased = count < own.inFlight
      own.inFlight = count
      if (!hasReleased) return
      for (const drain of drains) {
        drain.released.resolve()
        drain.released = Promise.withResolvers()
      }
    }

    return {
      reserve(wanted) {
        const othersInFlight = [...drains].reduce((sum, drain) => sum + (drain === own ? 0 : drain.inFlight), 0)
        const share = Math.max(1, Math.floor(maxPerWorkspace / drains.size))
        own.inFlight = Math.max(own.inFlight, Math.min(wanted, share, maxPerWorkspace - othersInFlight))
        return own.inFlight
      },
      setInFlight,
      whenReleased: () => own.released.promise,
      close() {
        setInFlight(0)
        drains.delete(own)
        if (drains.size === 0) drainsByWorkspace.delete(workspaceId)
      },
    }
  }

  return { openDrain }
}
