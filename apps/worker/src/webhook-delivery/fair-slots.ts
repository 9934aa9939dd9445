import type { WorkspaceId } from '@rapport/core/kernel/ids.ts'

/** Places for jobs that workspaces share, so that one with many dead receivers leaves places to the others. */
export interface FairSlots {
  /** Resolves to true with a place, and to false if there is none within `maxWaitMs`. */
  acquire(workspaceId: WorkspaceId, maxWaitMs: number): Promise<boolean>
  /** Takes a place if there is one now. */
  tryAcquire(workspaceId: WorkspaceId): boolean
  release(workspaceId: WorkspaceId): void
  /** Whether a job waits for a place. */
  hasWaiting(): boolean
}

/**
 * A workspace may hold half of the places that no other workspace holds, at most `maxPerWorkspace` and at least one. A place
 * that becomes free goes to the workspace that holds the fewest of those that wait.
 */
export function createFairSlots(size: number, maxPerWorkspace = size): FairSlots {
  interface Waiter {
    workspaceId: WorkspaceId
    admit: () => void
  }
  const held = new Map<WorkspaceId, number>()
  const waiting = new Set<Waiter>()
  let total = 0

  const countHeld = (workspaceId: WorkspaceId) => held.get(workspaceId) ?? 0

  function hasFreeSlot(workspaceId: WorkspaceId): boolean {
    const own = countHeld(workspaceId)
    const share = Math.floor((size - (total - own)) / 2)
    return total < size && own < Math.min(maxPerWorkspace, Math.max(1, share))
  }

  function adjustHeld(workspaceId: WorkspaceId, change: 1 | -1): void {
    total += change
    const count = countHeld(workspaceId) + change
    if (count > 0) held.set(workspaceId, count)
    else held.delete(workspaceId)
  }

  /** Returns whether a place was given. */
  function admitNext(): boolean {
    const next = [...waiting]
      .filter(({ workspaceId }) => hasFreeSlot(workspaceId))
      .toSorted((a, b) => countHeld(a.workspaceId) - countHeld(b.workspaceId))[0]
    if (!next) return false
    waiting.delete(next)
    adjustHeld(next.workspaceId, 1)
    next.admit()
    return true
  }

  function tryAcquire(workspaceId: WorkspaceId): boolean {
    if (!hasFreeSlot(workspaceId)) return false
    adjustHeld(workspaceId, 1)
    return true
  }

  return {
    tryAcquire,
    async acquire(workspaceId, maxWaitMs) {
      if (tryAcquire(workspaceId)) return true
      const { promise, resolve } = Promise.withResolvers<boolean>()
      const entry = { workspaceId, admit: () => resolve(true) }
      waiting.add(entry)
      const timer = setTimeout(() => {
        if (waiting.delete(entry)) resolve(false)
      }, maxWaitMs)
      return promise.finally(() => clearTimeout(timer))
    },
    release(workspaceId) {
      adjustHeld(workspaceId, -1)
      while (admitNext());
    },
    hasWaiting: () => waiting.size > 0,
  }
}
