import type { WorkspaceId } from '../ids.ts'

/** Slots that workspaces share fairly: one with much slow work cannot occupy all of them. */
export interface FairSlots<Key extends string = WorkspaceId> {
  /**
   * Resolves to true once a slot is acquired, and to false if none is free within `maxWaitMs` or until `signal` is
   * aborted.
   */
  acquire(workspaceId: Key, maxWaitMs: number, signal?: AbortSignal): Promise<boolean>
  /** Acquires a slot if one is free now. */
  tryAcquire(workspaceId: Key): boolean
  release(workspaceId: Key): void
}

/**
 * A workspace may hold half of the slots that other workspaces leave: at least one, at most its maximum (`maxOf`). A
 * released slot goes to the waiting workspace that holds the fewest slots, and among equals to the one that has waited
 * longest. Within a workspace, the order is that of arrival, and at most `maxWaiting` wait.
 */
export function createFairSlots<Key extends string = WorkspaceId>(
  size: number,
  maxOf: (workspaceId: Key) => number = () => size,
  maxWaiting = Infinity,
): FairSlots<Key> {
  const held = new Map<Key, number>()
  /** For each waiting workspace the functions that admit its next work. */
  const waiting = new Map<Key, Set<() => void>>()
  let total = 0

  const countHeld = (workspaceId: Key) => held.get(workspaceId) ?? 0

  function hasFreeSlot(workspaceId: Key): boolean {
    const own = countHeld(workspaceId)
    const share = Math.floor((size - (total - own)) / 2)
    return total < size && own < Math.min(maxOf(workspaceId), Math.max(1, share))
  }

  function adjustHeld(workspaceId: Key, change: 1 | -1): void {
    total += change
    const count = countHeld(workspaceId) + change
    if (count > 0) held.set(workspaceId, count)
    else held.delete(workspaceId)
  }

  function tryAcquire(workspaceId: Key): boolean {
    if (!hasFreeSlot(workspaceId)) return false
    adjustHeld(workspaceId, 1)
    return true
  }

  function addWaiting(workspaceId: Key, admit: () => void): void {
    const own = waiting.get(workspaceId) ?? new Set()
    waiting.set(workspaceId, own.add(admit))
  }

  /** Returns false if it was admitted before. */
  function removeWaiting(workspaceId: Key, admit: () => void): boolean {
    const own = waiting.get(workspaceId)
    if (!own?.delete(admit)) return false
    if (own.size === 0) waiting.delete(workspaceId)
    return true
  }

  /** Returns whether waiting work got a slot. */
  function admitNext(): boolean {
    let next: Key | undefined
    for (const workspaceId of waiting.keys()) {
      const isNext = next === undefined || countHeld(workspaceId) < countHeld(next)
      if (isNext && hasFreeSlot(workspaceId)) next = workspaceId
    }
    const own = next && waiting.get(next)
    if (next === undefined || !own) return false
    const [admit] = own
    // The others of this workspace wait behind those of all workspaces.
    waiting.delete(next)
    if (own.size > 1) waiting.set(next, own)
    if (admit) own.delete(admit)
    adjustHeld(next, 1)
    admit?.()
    return true
  }

  return {
    tryAcquire,
    async acquire(workspaceId, maxWaitMs, signal) {
      if (signal?.aborted) return false
      if (tryAcquire(workspaceId)) return true
      if ((waiting.get(workspaceId)?.size ?? 0) >= maxWaiting) return false
      const { promise, resolve } = Promise.withResolvers<boolean>()
      const admit = () => resolve(true)
      const giveUp = () => void (removeWaiting(workspaceId, admit) && resolve(false))
      addWaiting(workspaceId, admit)
      const timer = setTimeout(giveUp, maxWaitMs)
      signal?.addEventListener('abort', giveUp, { once: true })
      return promise.finally(() => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', giveUp)
      })
    },
    release(workspaceId) {
      adjustHeld(workspaceId, -1)
      while (admitNext());
    },
  }
}
