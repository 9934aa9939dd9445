import type { Figure } from './figures.ts'
import type { Server } from './installation.ts'
import type { Load, LoadGenerator } from './load.ts'
import { processorMsOf } from './processes.ts'

interface Pace {
  forMs: number
  /** Of the open loop. */
  perSecond: number
}

/**
 * Servers under load: rates in a closed loop, and with them what a request costs the server in processor time, which is
 * what is left of a rate where others want the processor too. A side is called by its name again each round, the warm-up among them.
 */
export function meterServers(generator: LoadGenerator, { forMs, perSecond }: Pace) {
  const costs = new Map<string, number[]>()
  return {
    rate: (side: string, server: Server, load: Omit<Load, 'urls'>) => async (): Promise<number> => {
      // The first run is the warm-up: V8 goes on compiling what runs often for some seconds.
      const runMs = costs.has(side) ? forMs : 3 * forMs
      const before = await processorMsOf(server.child)
      const { perSecond, answered } = await generator.run({ ...load, urls: [server.url] }, runMs)
      const cost = (((await processorMsOf(server.child)) - before) * 1_000) / answered
      costs.set(side, [...(costs.get(side) ?? []), cost])
      return perSecond
    },
    /** In an open loop at the pace of all. */
    p99:
      ({ url }: Server, load: Omit<Load, 'urls'>) =>
      async (): Promise<number> =>
        (await generator.run({ ...load, urls: [url], perSecond }, forMs)).p99,
    costFigure(name: string, side: string, beside: { name: string; side: string }): Figure {
      const ofRounds = (side: string) => costs.get(side)?.slice(1) ?? []
      return {
        name: `${name}, processor time of the server`,
        unit: 'µs a request',
        values: ofRounds(side),
        beside: { name: beside.name, values: ofRounds(beside.side) },
      }
    },
  }
}
