/** Controls the load generator, which runs load-generator.ts in a separate process. */
import { cpus } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { quantile } from './measurements.ts'
import { receiveMessage, type Processes } from './processes.ts'

export interface LoadRequest {
  method: 'GET' | 'POST' | 'PATCH'
  path: string
  /** Sent as JSON. */
  body?: object
  /** Instead of the key of the load. */
  key?: string
}

export interface Load {
  /** The servers, to which the connections are distributed evenly. */
  urls: string[]
  /** Sent in rotation. `{n}` in a path or body is replaced by a number that is unique in the run. */
  requests: LoadRequest[]
  key?: string
  headers?: Record<string, string>
  /** Closed loop, for throughput: each connection sends its next request after the response. Default: 20. */
  connections?: number
  /** Open loop, for latency: sends requests at this rate without waiting for earlier responses. */
  perSecond?: number
  /** Counts 503 responses instead of failing, for benches that overload the machine. */
  allows503?: boolean
}

/** The result that the process of the load generator returns. */
export interface LoadResult {
  /** One latency per response. */
  latenciesMs: number[]
  /** The number of 503 responses. */
  rejectedCount: number
  durationMs: number
}

export interface Outcome {
  responseCount: number
  perSecond: number
  p50: number
  p99: number
  /** The share of 503 responses. */
  rejected: number
  /** Processor utilization of the machine, from 0 to 1. Near 1, the processors are the bottleneck. */
  cpuUtilization: number
}

export type LoadGenerator = ReturnType<typeof startLoadGenerator>

/** Runs one load at a time. A response that is not 2xx ends the load, and `stop` then throws. */
export function startLoadGenerator(processes: Processes) {
  const child = processes.fork('load-generator.ts')

  function start(load: Load): { stop(): Promise<Outcome> } {
    const before = readCpuTimes()
    child.send(load)
    return {
      async stop() {
        child.send('stop')
        const result = await receiveMessage<LoadResult | string>(child)
        if (typeof result === 'string') throw new Error(result)
        const after = readCpuTimes()
        return {
          responseCount: result.latenciesMs.length,
          perSecond: (result.latenciesMs.length / result.durationMs) * 1000,
          p50: quantile(result.latenciesMs, 0.5),
          p99: quantile(result.latenciesMs, 0.99),
          rejected: result.rejectedCount / result.latenciesMs.length,
          cpuUtilization: 1 - (after.idle - before.idle) / (after.all - before.all),
        }
      },
    }
  }

  async function run(load: Load, forMs: number): Promise<Outcome> {
    const running = start(load)
    await sleep(forMs)
    return running.stop()
  }

  return { start, run }
}

function readCpuTimes() {
  const times = cpus().flatMap(({ times }) => Object.entries(times))
  const sum = (of: [string, number][]) => of.reduce((total, [, ms]) => total + ms, 0)
  return { all: sum(times), idle: sum(times.filter(([name]) => name === 'idle')) }
}
