/**
 * Decides the order of everything that happens in a simulation. Each task runs until it sends a statement, a mail or a
 * request, or pauses. The scheduler waits until all tasks do so, or until PostgreSQL lets them wait for a lock of a task
 * that waits for the scheduler. Then it chooses what happens next. So the same choices give the same trace, however fast
 * the machine is.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type pg from 'pg'
import { type Choices, pick } from './choices.ts'
import type { Connection, SimulatedProcess, SimulationEvent, Task, TraceEntry } from './tasks.ts'

/** A task that waits for the scheduler. Without a task: a statement that is still on its way. */
interface Waiting {
  task?: Task
  label: string
  /** Names what it may wait for in PostgreSQL. */
  lock?: string
  /** What may happen instead of the usual. */
  faults: readonly string[]
  /** Runs if the process is killed first. */
  onKill?: () => void
}

const storage = new AsyncLocalStorage<Task>()
export const currentTask = (): Task | undefined => storage.getStore()

const stuckAfterMs = 8_000
/** Not simulated, as no virtual timer has this length. */
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

export type Scheduler = ReturnType<typeof createScheduler>

export interface SchedulerOptions {
  choices: Choices
  /** Reads locks. Not simulated. */
  monitor: pg.Pool
}

export function createScheduler({ choices, monitor }: SchedulerOptions) {
  interface Entry extends Waiting {
    run: (outcome: string, entry: TraceEntry) => void
    /** The number of the step after which it began to wait. */
    since: number
  }
  const waiting = new Set<Entry>()
  const tasks = new Set<Task>()
  const executing = new Set<Connection>()
  const trace: TraceEntry[] = []
  const busy = new Set<Promise<unknown>>()
  let faultRate = 0
  let enabledFaults: readonly string[] = []
  let hasPriorities = false
  const priorities = new Map<Task | Entry, number>()

  function add(what: Waiting, run: Entry['run']): () => void {
    const entry = { ...what, run, since: trace.length }
    waiting.add(entry)
    return () => void waiting.delete(entry)
  }

  function whileBusy<Result>(work: Promise<Result>): Promise<Result> {
    busy.add(work)
    const done = () => void busy.delete(work)
    work.then(done, done)
    return work
  }

  const numberOf = (task: Task | undefined) => task?.number ?? 0

  /** Whether the task can continue without a choice. */
  function isRunning(task: Task): boolean {
    if (task.isBlocked()) return false
    for (const entry of waiting) if (entry.task === task) return false
    for (const { executing: statement } of executing) if (statement?.task === task) return false
    return true
  }

  /** The task with the highest priority, so that others stay where they are for long. Some lose their priority. */
  function pickByPriority(ordered: readonly Entry[]): Entry {
    for (const entry of ordered) {
      const key = entry.task ?? entry
      if (!priorities.has(key)) priorities.set(key, choices.next())
    }
    const priorityOf = (entry: Entry) => priorities.get(entry.task ?? entry) ?? 0
    const first = ordered.reduce((best, entry) => (priorityOf(entry) > priorityOf(best) ? entry : best))
    if (choices.next() > 0.85) priorities.set(first.task ?? first, -trace.length)
    return first
  }

  /** Waits until nothing happens without a choice. */
  async function waitUntilQuiet(): Promise<void> {
    const stuckAt = Date.now() + stuckAfterMs
    for (;;) {
      for (let turn = 0; turn < 4; turn++) await nextTurn()
      if (Date.now() > stuckAt) throw new Error(`The simulation is stuck: ${describeState()}`)
      if (!isQuiet()) await Promise.race([...busy, pause(1)]).catch(() => {})
      else if (executing.size === 0) return
      // Most statements end at once. Asking for locks costs as much as a statement.
      else if (await hasAnyEnded(3)) continue
      // Quiet also afterward, or a session that ends may just release its locks.
      else if ((await areAllBlocked([...executing])) && isQuiet()) return
    }
  }

  /** Whether no task runs, and no session begins or ends. */
  const isQuiet = () => busy.size === 0 && ![...tasks].some(isRunning)

  function hasAnyEnded(withinMs: number): Promise<boolean> {
    const ends = [...executing].map((connection) => connection.executing?.ended.then(() => true))
    return Promise.race([...ends, pause(withinMs).then(() => false)]).then((hasEnded) => hasEnded !== false)
  }

  /** Whether each statement waits for a lock that will not be released without a choice. */
  async function areAllBlocked(connections: readonly Connection[]): Promise<boolean> {
    const pids = connections.map(({ pid }) => pid)
    const { rows } = await monitor.query<{ pid: number; blockers: number[] }>(
      'select pid, pg_blocking_pids(pid) as blockers from unnest($1::int[]) as pid',
      [pids],
    )
    // A statement that is not finished and does not wait may be running.
    const blocked = new Set(rows.filter(({ blockers }) => blockers.length > 0).map(({ pid }) => pid))
    return executing.size === pids.length && pids.every((pid) => blocked.has(pid))
  }

  const describeState = () =>
    [...tasks].map((task) => `${task.process.name} ${task.name}${isRunning(task) ? ' (running)' : ''}`).join(', ')

  function record(row: Omit<TraceEntry, 'result'>): TraceEntry {
    const entry = { ...row, result: '' }
    trace.push(entry)
    return entry
  }

  /**
   * PostgreSQL wakes all statements that wait for a transaction at once, and the machine would decide which of them locks
   * a row first. So a statement is not sent while one that may wait for the same lock waits.
   */
  function isReady({ task, lock }: Entry): boolean {
    const isWaiting = [...executing].some(({ executing: statement }) => statement?.lock === lock)
    return !task?.process.isFrozen && !isWaiting
  }

  /** Chooses what happens to one task, or one event. Returns false if there is nothing to choose from. */
  async function step(events: readonly SimulationEvent[]): Promise<boolean> {
    await waitUntilQuiet()
    const ready = [...waiting].filter(isReady)
    if (ready.length === 0 && events.length === 0) return breakDeadlock()
    const isEvent = ready.length === 0 || (events.length > 0 && choices.next() > 0.8)
    if (isEvent) {
      await runEvent(pick(choices, events))
      return true
    }
    // Of tasks that continued at the same time, the order would be that of the machine.
    const ordered = ready.toSorted((a, b) => a.since - b.since || numberOf(a.task) - numberOf(b.task))
    const entry = hasPriorities ? pickByPriority(ordered) : pick(choices, ordered)
    waiting.delete(entry)
    // Claims name the worker, so a job that can neither record nor release loses track of its claim. Once is survived.
    const hasFailed = trace.some((earlier) => earlier.outcome === 'fails')
    const possible = entry.faults.filter((fault) => enabledFaults.includes(fault) && !(fault === 'fails' && hasFailed))
    const isFault = possible.length > 0 && faultRate > 0 && choices.next() > 1 - faultRate
    const outcome = isFault ? pick(choices, possible) : 'passes'
    const who = entry.task ? `${entry.task.process.name} ${entry.task.name}` : ''
    entry.run(outcome, record({ who, what: entry.label, outcome: entry.task ? outcome : 'arrives late' }))
    const interruption = entry.task?.interruption
    if (interruption && --interruption.afterSteps === 0) await runEvent(interruption.event)
    return true
  }

  async function runEvent(event: SimulationEvent): Promise<void> {
    record({ who: '', what: event.label, outcome: '' })
    await event.run()
  }

  /** Lets the statement that has waited longest fail, as PostgreSQL does after a time. */
  async function breakDeadlock(): Promise<boolean> {
    const [first] = executing
    if (!first) return false
    const { label = '', task } = first.executing ?? {}
    record({ who: task?.name ?? '', what: label, outcome: 'gets a lock timeout' })
    await monitor.query('select pg_cancel_backend($1)', [first.pid])
    while (executing.has(first)) await nextTurn()
    return true
  }

  return {
    executing,
    trace,
    whileBusy,
    add,
    wait: <Result>(what: Waiting, act: (outcome: string, entry: TraceEntry) => Result | Promise<Result>) =>
      new Promise<Result>((resolve) => add(what, (outcome, entry) => resolve(act(outcome, entry)))),
    /** The statement arrives some time. */
    addLate: (what: Pick<Waiting, 'label' | 'lock'>, arrive: (entry: TraceEntry) => void) =>
      add({ ...what, faults: [] }, (_outcome, entry) => arrive(entry)),
    /** The next choice waits until PostgreSQL has ended the session, and with it released its locks. */
    sessionEnds(pid: number, ending: Promise<void>): void {
      const isGone = async () => {
        await ending.catch(() => {})
        const count = () => monitor.query('select 1 from pg_stat_activity where pid = $1', [pid])
        while ((await count()).rowCount !== 0) await nextTurn()
      }
      void whileBusy(isGone())
    },
    start(task: Task, work: () => Promise<unknown>, onEnd: (error: unknown) => void): void {
      tasks.add(task)
      const end = (error: unknown) => {
        task.isEnded = true
        task.hasFailed = error !== undefined
        tasks.delete(task)
        onEnd(error)
      }
      void storage.run(task, () =>
        work().then(
          () => end(undefined),
          (error: unknown) => end(error ?? new Error('unknown')),
        ),
      )
    },
    /** Nothing of a killed process continues. Statements that PostgreSQL is executing are finished. */
    kill(process: SimulatedProcess): void {
      process.isDead = true
      for (const entry of waiting) {
        if (entry.task?.process !== process) continue
        waiting.delete(entry)
        entry.onKill?.()
      }
      for (const task of tasks) if (task.process === process) tasks.delete(task)
      for (const connection of process.connections) connection.end()
    },
    /** `rate` is the probability that what can fail does, with one of these kinds. */
    setFaults(rate: number, kinds: readonly string[]): void {
      faultRate = rate
      enabledFaults = kinds
    },
    usePriorities: () => void (hasPriorities = true),
    hasTasks: () => tasks.size > 0,
    hasWaiting: () => waiting.size > 0 || executing.size > 0,
    step,
  }
}
