import type { Figure } from './measurements.ts'
import type { Server } from './installation.ts'
import type { Load, LoadGenerator } from './load.ts'
import { readCpuMs } from './processes.ts'

interface MeterOptions {
  forMs: number
  /** The rate of the open loop. */
  perSecond: number
}

/**
 * Measures servers under load: the request rate and the processor time per request in a closed loop, the p99 in an
 * open loop. Unlike the rate, the processor time does not depend on other processes of the machine. `side` identifies a
 * server over all rounds, including the warm-up round.
 */
export function createMeter(generator: LoadGenerator, { forMs, perSecond }: MeterOptions) {
  const costs = new Map<string, number[]>()
  return {
    rate: (side: string, server: Server, load: Omit<Load, 'urls'>) => async (): Promise<number> => {
      // The warm-up is longer, as V8 optimizes hot code for several seconds.
      const runMs = costs.has(side) ? forMs : 3 * forMs
      const before = await readCpuMs(server.child)
      const { perSecond, responseCount } = await generator.run({ ...load, urls: [server.url] }, runMs)
      const cost = (((await readCpuMs(server.child)) - before) * 1_000) / responseCount
      costs.set(side, [...(costs.get(side) ?? []), cost])
      return perSecond
    },
    /** The p99 in an open loop. */
    p99:
      ({ url }: Server, load: Omit<Load, 'urls'>) =>
      async (): Promise<number> =>
        (await generator.run({ ...load, urls: [url], perSecond }, forMs)).p99,
    cpuCostFigure(name: string, side: string, baseline: { name: string; side: string }): Figure {
      const getValues = (side: string) => costs.get(side)?.slice(1) ?? []
      return {
        name: `${name}, processor time of the server`,
        unit: 'µs per request',
        values: getValues(side),
        baseline: { name: baseline.name, values: getValues(baseline.side) },
      }
    },
  }
}
