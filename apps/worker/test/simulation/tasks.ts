/** What the scheduler decides about: the tasks of simulated processes, and what it records of them. */

/** A connection of a simulated process. `pid` is that of its PostgreSQL backend. */
export interface Connection {
  pid: number
  /** The statement that PostgreSQL is executing. */
  executing: { label: string; lock: string; task: Task | undefined; ended: Promise<void> } | undefined
  /** Ends the session. PostgreSQL rolls back what was not committed. Waits for the statement that is executing. */
  end(): void
}

export interface SimulatedProcess {
  name: string
  isDead: boolean
  /** Whether it does nothing for a while, as on a machine that pauses. */
  isFrozen: boolean
  connections: Set<Connection>
}

/** A job, or a call of the API. */
export interface Task {
  name: string
  /** In the order of their starts. */
  number: number
  process: SimulatedProcess
  isEnded: boolean
  hasFailed: boolean
  /** Whether the task waits for another one in its process. */
  isBlocked: () => boolean
  /** What happens after so many of its steps. */
  interruption?: { afterSteps: number; event: SimulationEvent } | undefined
}

export interface TraceEntry {
  who: string
  what: string
  outcome: string
  result: string
}

/** Something that the simulation itself can do now, such as killing a process. */
export interface SimulationEvent {
  label: string
  run(): void | Promise<void>
}
