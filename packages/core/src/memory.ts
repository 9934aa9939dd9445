import { PerformanceObserver } from 'node:perf_hooks'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'

/**
 * Keeps a process small on a large machine, where V8 lets garbage pile up for as long as there is room: a third of the
 * memory. To be called before anything else is loaded, as loading makes the most garbage.
 */
export function keepMemorySmall(): void {
  // Old objects: collected when they have grown by half, not to the fourfold. New ones: in the space they start with.
  setFlagsFromString('--heap-growing-percent=50')
  setFlagsFromString('--semi-space-growth-factor=1')
}

const youngSpaceBytes = 8 * 1_048_576

/**
 * For the work itself, once all is loaded: gives new objects some room, and no more. In the little they start with, a
 * fifth of a busy process's time would go into collecting them.
 */
export function makeRoomForWork(): void {
  setFlagsFromString('--semi-space-growth-factor=2')
  const observer = new PerformanceObserver(() => {
    const young = getHeapSpaceStatistics().find((space) => space.space_name === 'new_space')
    if ((young?.space_size ?? 0) < youngSpaceBytes) return
    setFlagsFromString('--semi-space-growth-factor=1')
    observer.disconnect()
  })
  observer.observe({ entryTypes: ['gc'] })
}

/** For threads that are started from here on: new objects have that room from the beginning. */
export function makeRoomInThreads(): void {
  setFlagsFromString('--min-semi-space-size=4')
}
