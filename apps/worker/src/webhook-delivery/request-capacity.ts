import type { WorkspaceId } from '@rapport/core/kernel/ids.ts'

/** The share of one drain in the request capacity of its workspace. */
export interface DrainCapacity {
  /**
   * Reserves capacity and returns how many requests the drain may have in flight in total: `wanted`, limited by its
   * equal share and by the capacity that the other drains of the workspace leave.
   */
  reserve(wanted: number): number
  /** Sets the number of requests in flight and releases the rest of the reserved capacity. */
  setInFlight(count: number): void
  /** Resolves when a drain of the workspace releases capacity. */
  whenReleased(): Promise<void>
  close(): void
}

export interface RequestCapacity {
  openDrain(workspaceId: WorkspaceId): DrainCapacity
}

/**
 * Limits the requests that a workspace has in flight in this worker to what `quotaOf` returns. Its drains share the
 * capacity equally.
 */
export function createRequestCapacity(quotaOf: (workspaceId: WorkspaceId) => number): RequestCapacity {
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
        const maxPerWorkspace = quotaOf(workspaceId)
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
