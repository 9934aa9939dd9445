import { PerformanceObserver } from 'node:perf_hooks'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'

/**
 * Keeps a process small on a large machine, where V8 lets garbage pile up for as long as there is room: a third of the
 * memory. To be called before anything else is loaded, as loading makes the most garbage.
 */
export function keepMemorySmall(): void {
  // Old objects: collected when they have grown by half, not to the fourfold. New ones: in the space they start with.
  setFlagsFromString('--heap-growing-percent=50')
  letNewObjectsHaveMore(false)
}

const youngSpaceBytes = 8 * 1_048_576

/**
 * For the work itself, once all is loaded: gives new objects some room, and no more. In the little they start with, a
 * fifth of a busy process's time would go into collecting them. V8 takes the room back from a process that has little to
 * do, so it is looked after for as long as the process lives.
 */
export function makeRoomForWork(): void {
  let mayGrow = false
  new PerformanceObserver(() => {
    const isShort = youngSpaceSize() < youngSpaceBytes
    if (isShort === mayGrow) return
    mayGrow = isShort
    letNewObjectsHaveMore(mayGrow)
  }).observe({ entryTypes: ['gc'] })
}

/** What new objects have for room in this thread, in bytes. */
export function youngSpaceSize(): number {
  return getHeapSpaceStatistics().find((space) => space.space_name === 'new_space')?.space_size ?? 0
}

function letNewObjectsHaveMore(yes: boolean): void {
  setFlagsFromString(`--semi-space-growth-factor=${yes ? 2 : 1}`)
}

/** For threads that are started from here on: new objects have that room from the beginning. */
export function makeRoomInThreads(): void {
  setFlagsFromString('--min-semi-space-size=4')
}
