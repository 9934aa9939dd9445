/** The load generator, seen from the bench that tells it what to ask. The work is done by load-generator.ts, a process of its own. */
import { cpus } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { quantile } from './figures.ts'
import { hear, type Processes } from './processes.ts'

export interface Ask {
  method: 'GET' | 'POST' | 'PATCH'
  path: string
  /** Sent as JSON. */
  body?: object
}

export interface Load {
  /** Of one server or several, which the connections take in turns. */
  urls: string[]
  /** Taken in turns. `{n}` in a path or body becomes a number that was never there before. */
  asks: Ask[]
  key?: string
  headers?: Record<string, string>
  /** Closed loop, which shows throughput: so many connections, each asks again as soon as it is answered. 20. */
  connections?: number
  /** Open loop, which shows latency: so many requests a second, whether or not those before are answered. */
  perSecond?: number
  /** 503 too is an answer, and counted: where a machine is made too busy. */
  may503?: boolean
}

/** What the generator tells: the milliseconds that each answer took, and how long all of it. */
export interface Told {
  times: number[]
  /** How many of them were 503. */
  refused: number
  tookMs: number
}

export interface Outcome {
  answered: number
  perSecond: number
  p50: number
  p99: number
  /** The share of answers that were 503. */
  refused: number
  /** How much of the machine's processors was in use, by whomever: near 1, they are what bounds a rate. */
  machineBusy: number
}

export type LoadGenerator = ReturnType<typeof startLoadGenerator>

/** One load at a time. An answer that is not 2xx ends the load, and `stop` fails with it. */
export function startLoadGenerator(processes: Processes) {
  const child = processes.fork('load-generator.ts')

  function start(load: Load): { stop(): Promise<Outcome> } {
    const before = processorTimes()
    child.send(load)
    return {
      async stop() {
        child.send('stop')
        const told = await hear<Told | string>(child)
        if (typeof told === 'string') throw new Error(told)
        const after = processorTimes()
        return {
          answered: told.times.length,
          perSecond: (told.times.length / told.tookMs) * 1000,
          p50: quantile(told.times, 0.5),
          p99: quantile(told.times, 0.99),
          refused: told.refused / told.times.length,
          machineBusy: 1 - (after.idle - before.idle) / (after.all - before.all),
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

function processorTimes() {
  const times = cpus().flatMap(({ times }) => Object.entries(times))
  const sum = (of: [string, number][]) => of.reduce((total, [, ms]) => total + ms, 0)
  return { all: sum(times), idle: sum(times.filter(([name]) => name === 'idle')) }
}
