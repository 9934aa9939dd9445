/** The processes of a simulation, and what is outside of them: mail server, receivers, the queue. */
import { openDatabase, type Database } from '@rapport/core/db/client.ts'
import type { WorkJob } from '@rapport/core/work/queues.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import type { Bounce } from '@rapport/core/mail/bounces/classify-bounce.ts'
import type { MailOutcome } from '@rapport/core/mail/mails.ts'
import { createTestDeps, type TestDeps } from '../fixtures.ts'
import type { WorkerDeps } from '../../src/process/worker-deps.ts'
import { recoverUnknownClaims } from '../../src/process/heartbeat.ts'
import { defaultTimings } from '../../src/process/worker-timings.ts'
import { type Choices, pick } from './choices.ts'
import { gateConnections, type PoolOwner } from './gate-connections-patch.ts'
import { currentTask, type Scheduler } from './scheduler.ts'
import type { SimulatedProcess, Task } from './tasks.ts'
import { outcomeBatchMs, retryPauseMs } from './virtual-timers-patch.ts'

/** Retries and outcomes wait for the scheduler, no drain looks for new deliveries by itself; no turn ends, as there is capacity. */
const timings = {
  ...defaultTimings,
  minRetryPauseMs: retryPauseMs,
  maxRetryPauseMs: retryPauseMs,
  outcomeBatchMs,
  minDrainLookMs: 3_600_000,
}

/** A mail or a request that left a process. */
export interface Sent {
  /** The address of a mail, or the event of a request. */
  subject: string
  /** The Message-ID of a mail. */
  messageId?: string
  /** Whether it arrived. */
  hasArrived: boolean
  /** Whether the task knows what became of it. */
  hasResponse: boolean
  task: Task
  /** The name of the task, and the number of the trace's rows before. */
  who: string
  step: number
  /** Why the mail server refused it, if the scenario has bounces. */
  bounce?: Bounce
}

export interface Worker extends SimulatedProcess {
  deps: WorkerDeps
  releaseOrphaned: () => Promise<unknown>
  stop(): void
}

/** The connections of a process. They are kept for the next run, as opening one takes longer than most statements. */
interface ProcessPool {
  database: Database
  connections: SimulatedProcess['connections']
  owner?: PoolOwner
}

/** A migrated database that nothing else uses. */
export interface Place {
  url: string
  /** Not simulated: creates and checks. */
  database: Database
  idlePools: ProcessPool[]
}

function openPool(url: string): ProcessPool {
  const database = openDatabase(url, {
    applicationName: 'rapport simulation',
    maxConnections: 30,
    // Only the scheduler ends a wait, and a busy machine must not fail a connection.
    connectionTimeoutMs: 60_000,
    settings: {
      lock_timeout: '0',
      statement_timeout: '0',
      idle_in_transaction_session_timeout: '0',
      deadlock_timeout: '1h',
    },
    onError: () => {},
  })
  return { database, connections: new Set() }
}

interface TaskStart extends Pick<Task, 'name' | 'interruption'> {
  work: (task: Task) => Promise<unknown>
  onEnd?: (error: unknown) => void
  /** For tasks that wait for others. */
  isBlocked?: Task['isBlocked']
}

export interface WorldOptions {
  place: Place
  scheduler: Scheduler
  choices: Choices
  /** The bounces with which the mail server refuses. */
  refusals?: readonly Bounce[] | undefined
}

export function createWorld({ place, scheduler, choices, refusals }: WorldOptions) {
  const sent: Sent[] = []
  const closers: (() => Promise<void>)[] = []
  const workers: Worker[] = []
  let taskCount = 0

  function openProcess(name: string): SimulatedProcess & { db: Database['db'] } {
    const pool = place.idlePools.pop() ?? openPool(place.url)
    const process: SimulatedProcess = { name, isDead: false, isFrozen: false, connections: pool.connections }
    if (pool.owner) Object.assign(pool.owner, { scheduler, process })
    else gateConnections(pool.database.pool, (pool.owner = { scheduler, process }))
    // The pool of a killed process never gets its connections back.
    closers.push(async () => {
      if (!process.isDead) place.idlePools.push(pool)
    })
    return Object.assign(process, { db: pool.database.db })
  }

  /** Something leaves the process: the scheduler decides whether it arrives, and what the response is. */
  function send<Response>(
    {
      label,
      subject,
      faults,
      messageId,
    }: Pick<Sent, 'subject' | 'messageId'> & { label: string; faults: readonly string[] },
    respond: (outcome: string, one: Sent) => Response,
  ): Promise<Response> {
    const task = currentTask()
    if (!task) throw new Error(`${label}: outside of a task`)
    const one: Sent = {
      subject,
      ...(messageId && { messageId }),
      hasArrived: false,
      hasResponse: false,
      task,
      who: `${task.process.name} ${task.name}`,
      step: scheduler.trace.length,
    }
    sent.push(one)
    const onKill = () => void (one.hasArrived = choices.next() > 0.5)
    return scheduler.wait({ task, label, faults, onKill }, (outcome) => {
      one.hasResponse = !/, \w+ lost$/.test(outcome)
      one.hasArrived = !/refused|deferred|not sent/.test(outcome)
      return respond(outcome, one)
    })
  }

  function respondToMail(outcome: string, one: Sent): MailOutcome {
    const response = { ...(mailOutcomes[outcome] ?? { kind: 'sent' as const }) }
    if (response.kind === 'refused' && !response.temporary && refusals)
      response.bounce = one.bounce = pick(choices, refusals)
    return response
  }

  async function startWorker(name = `worker-${workers.length + 1}`): Promise<Worker> {
    const process = openProcess(name)
    const base: TestDeps = await createTestDeps(place.database.db, { timings })
    closers.push(() => base.close())
    const deps: WorkerDeps = {
      ...base,
      db: process.db,
      mail: {
        async send({ to, messageId }, { kind }, check) {
          // Some emails wait for their connection. The seeds of campaigns were found without.
          const refused = kind === 'EMAIL' && choices.next() > 0.5 ? await check?.ask() : undefined
          if (refused) return refused
          return send({ label: 'send a mail', subject: to.address, messageId, faults: mailFaults }, respondToMail)
        },
        close: () => {},
      },
      mailRateLimiter: { groupSize: 2, wait: async () => {}, waitForSingles: async () => {} },
      // Several transactions for a file of ten rows.
      importRows: 3,
      // Fewer than there are deliveries, so that a drain takes several times.
      webhookQuota: { read: async () => 2, peek: () => 2 },
      http: {
        openConnections: () => ({
          post: (_url, { headers }) =>
            send({ label: 'POST', subject: headers['webhook-id'] ?? '', faults: ['responds 500'] }, (outcome) => ({
              status: outcome === 'passes' ? 200 : 500,
              body: '',
              error: outcome === 'passes' ? null : 'HTTP 500',
              durationMs: 1,
            })),
          close: async () => {},
        }),
        close: async () => {},
      },
    }
    const worker = Object.assign(process, {
      deps,
      releaseOrphaned: () => recoverUnknownClaims(deps),
      stop: () => base.stop(),
    })
    workers.push(worker)
    return worker
  }

  return {
    sent,
    workers,
    openProcess,
    startWorker,
    start(
      process: SimulatedProcess,
      { name, work, onEnd = () => {}, isBlocked = () => false, interruption }: TaskStart,
    ) {
      const number = ++taskCount
      const state = { number, process, isEnded: false, hasFailed: false }
      const task: Task = { name: `${name} ${number}`, ...state, isBlocked, interruption }
      scheduler.start(task, () => work(task), onEnd)
      return task
    },
    async close() {
      for (const closer of closers.toReversed()) await closer()
    },
  }
}

export type World = ReturnType<typeof createWorld>

const mailOutcomes: Record<string, MailOutcome> = {
  refused: { kind: 'refused', temporary: false, error: '550 refused' },
  deferred: { kind: 'refused', temporary: true, error: '450 deferred' },
  'sent, response lost': { kind: 'ambiguous', error: 'connection lost' },
  'not sent, connection lost': { kind: 'ambiguous', error: 'connection lost' },
}
export const mailFaults = Object.keys(mailOutcomes)

/** A job that the simulation runs. */
export type SimulatedWork = WorkJob

export interface SimulatedCall {
  name: string
  call: (ctx: Ctx) => Promise<unknown>
  /** A worker receives it, and the sender repeats it until it has a response. */
  isRepeated?: boolean
}

/** What a scenario prepares. */
export interface Scenario {
  ctx: Ctx
  /** Calls of the API, and reports of mail servers, in no order. */
  calls: SimulatedCall[]
  refusals?: readonly Bounce[]
  /** Whether another worker recovers the claims of a worker that counts as crashed while that one still uses them. */
  isRecoveredAtOnce: boolean
  /** What a user would do so that all work ends. Repeated while it does not. */
  finish(trace: Scheduler['trace']): Promise<void>
  /** Returns the broken promises. */
  check(world: World, trace: Scheduler['trace']): Promise<string[]>
}
