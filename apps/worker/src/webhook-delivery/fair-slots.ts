import type { WorkspaceId } from '@rapport/core/kernel/ids.ts'

/** Job slots that are shared fairly: a workspace with many unreachable receivers cannot occupy all of them. */
export interface FairSlots {
  /** Resolves to true once a slot is acquired, and to false if none is free within `maxWaitMs`. */
  acquire(workspaceId: WorkspaceId, maxWaitMs: number): Promise<boolean>
  /** Acquires a slot if one is free now. */
  tryAcquire(workspaceId: WorkspaceId): boolean
  release(workspaceId: WorkspaceId): void
  /** Whether a job waits for a slot. */
  hasWaiting(): boolean
}

/**
 * A workspace may hold half of the slots that other workspaces leave: at least one, at most `maxPerWorkspace`. A
 * released slot goes to the waiting workspace that holds the fewest slots.
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

  /** Returns whether a waiting job got a slot. */
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
      const waiter = { workspaceId, admit: () => resolve(true) }
      waiting.add(waiter)
      const timer = setTimeout(() => {
        if (waiting.delete(waiter)) resolve(false)
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
