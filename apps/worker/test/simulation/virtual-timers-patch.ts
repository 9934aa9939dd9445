/**
 * Short pauses of simulated tasks end when the scheduler decides it. Timers of other lengths are real. The clock of
 * `performance` stands still, so that what a process remembers for some seconds lasts for a run, also on a busy machine.
 */
import { syncBuiltinESMExports } from 'node:module'
import timersPromises from 'node:timers/promises'
import { currentTask, type Scheduler } from './scheduler.ts'

/** No library uses these lengths. */
export const retryPauseMs = 7
export const outcomeBatchMs = 11
const virtual = [retryPauseMs, outcomeBatchMs]

class VirtualTimer {
  readonly cancel: () => void
  constructor(cancel: () => void) {
    this.cancel = cancel
  }
}

/** Replaces the timers of Node until the returned function is called. */
export function installVirtualTimers(scheduler: Scheduler): () => void {
  const { setTimeout, clearTimeout } = globalThis
  const pause = timersPromises.setTimeout
  const now = performance.now.bind(performance)
  const startedAt = performance.now()

  function addTimer(ms: number, run: () => void): (() => void) | undefined {
    const task = currentTask()
    if (!task || !virtual.includes(ms)) return undefined
    return scheduler.add({ task, label: ms === retryPauseMs ? 'pause ends' : 'waited for outcomes', faults: [] }, run)
  }

  globalThis.setTimeout = ((run: () => void, ms: number, ...parameters: []) => {
    const cancel = addTimer(ms, run)
    return cancel ? new VirtualTimer(cancel) : setTimeout(run, ms, ...parameters)
  }) as typeof setTimeout
  globalThis.clearTimeout = (timer) => {
    if (timer instanceof VirtualTimer) timer.cancel()
    else clearTimeout(timer)
  }
  timersPromises.setTimeout = ((ms: number, value: unknown, options?: object) => {
    const { promise, resolve } = Promise.withResolvers<unknown>()
    return addTimer(ms, () => resolve(value)) ? promise : pause(ms, value, options)
  }) as typeof pause
  performance.now = () => startedAt
  syncBuiltinESMExports()
  return () => {
    performance.now = now
    Object.assign(globalThis, { setTimeout, clearTimeout })
    timersPromises.setTimeout = pause
    syncBuiltinESMExports()
  }
}
