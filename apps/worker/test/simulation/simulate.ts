/** One run: a scenario, the faults that its choices select, an end without faults, and the promises that must hold. */
import { createHash } from 'node:crypto'
import type { Database } from '@rapport/core/db/client.ts'
import { findPublishableWork, markPublished } from '@rapport/core/work/publish.ts'
import { kindsOfWork } from '@rapport/core/work/kinds.ts'
import { deregisterWorker, recordHeartbeat } from '@rapport/core/work/worker-registry.ts'
import { recoverOrphanedClaims } from '@rapport/core/operations/recovery/recover-claims.ts'
import { expireWorkerHeartbeat } from '@rapport/testing/fixtures/factories.ts'
import { drainWebhook } from '../../src/jobs/drain-webhook.ts'
import { sendCampaignBatch } from '../../src/jobs/send-campaign-batch.ts'
import { sendMail } from '../../src/jobs/send-mail.ts'
import type { WorkerDeps } from '../../src/process/worker-deps.ts'
import { type Choices, pick } from './choices.ts'
import { listClaims, readOpenWork, resetClaims } from './claims.ts'
import { statementFaults } from './gate-connections-patch.ts'
import { scenarios } from './scenarios.ts'
import { createScheduler, type SimulationEvent, type Task, type TraceEntry } from './scheduler.ts'
import { installVirtualTimers } from './virtual-timers-patch.ts'
import {
  createWorld,
  mailFaults,
  type Place,
  type Scenario,
  type SimulatedWork,
  type Worker,
  type World,
} from './world.ts'

/** The queue of a job, for the trace. */
const queueOf = ({ kind }: SimulatedWork) => (kind ? kindsOfWork[kind].queue : 'webhooks')

async function runJob(deps: WorkerDeps, job: SimulatedWork): Promise<void> {
  if (job.kind === undefined) await drainWebhook(deps, job, () => {})
  else await (queueOf(job) === 'mail' ? sendMail : sendCampaignBatch)(deps, { ...job, kind: job.kind })
}

export interface Run {
  scenario: string
  trace: readonly TraceEntry[]
  /** The same for the same choices and the same code. */
  hash: string
  /** The broken promises. */
  broken: string[]
  /** Whether the run contains what is known to break them, see `hasKnownGap`. */
  isKnown: boolean
  choices: readonly number[]
}

/** What a run is limited to. */
export interface Limits {
  scenario?: string | undefined
  /** The kinds of faults. */
  faults?: readonly string[] | undefined
}

const maxSteps = 500
const maxRounds = 12
const faultKinds = [...statementFaults, ...mailFaults, 'responds 500']

/** Runs one simulation in a migrated database that nothing else uses. */
export async function simulate(place: Place, choices: Choices, only: Limits = {}): Promise<Run> {
  const name = only.scenario ?? pick(choices, Object.keys(scenarios))
  const prepare = scenarios[name]
  if (!prepare) throw new Error(`There is no scenario "${name}": use ${Object.keys(scenarios).join(', ')}`)
  const { database } = place
  await database.pool.query('delete from workers')
  const scenario = await prepare(database)
  const scheduler = createScheduler({ choices, monitor: database.pool })
  const uninstall = installVirtualTimers(scheduler)
  const world = createWorld({ place, scheduler, choices })
  const simulation = createSimulation({
    scenario,
    world,
    scheduler,
    database,
    choices,
    faults: only.faults ?? faultKinds,
  })
  try {
    await simulation.runWithFaults()
    const broken = [...(await simulation.runToEnd()), ...(await scenario.check(world, scheduler.trace))]
    const { trace } = scheduler
    return {
      scenario: name,
      trace,
      hash: hashTrace(trace),
      broken,
      isKnown: hasKnownGap(trace),
      choices: choices.taken,
    }
  } finally {
    uninstall()
    await world.close()
    await resetClaims(database)
  }
}

/**
 * A known gap: claims name the worker, not the attempt. So a release of a lost claim that arrives late, on a connection
 * that was frozen, releases a later claim of the same worker.
 */
function hasKnownGap(trace: readonly TraceEntry[]): boolean {
  const isRelease = /^update "mails" .* - 1|^update campaign_recipients set status = 'WAITING'/
  return trace.some(
    ({ what, outcome, result }) => outcome === 'arrives late' && isRelease.test(what) && result !== '0 rows',
  )
}

function hashTrace(trace: readonly TraceEntry[]): string {
  return createHash('sha256').update(JSON.stringify(trace)).digest('hex').slice(0, 16)
}

interface Parts {
  scenario: Scenario
  world: World
  scheduler: ReturnType<typeof createScheduler>
  database: Database
  choices: Choices
  faults: readonly string[]
}

function createSimulation({ scenario, world, scheduler, database, choices, faults }: Parts) {
  const { ctx } = scenario
  const events: SimulationEvent[] = []
  const activeJobs = new Map<Worker, Map<string, Task[]>>()
  let retriesLeft = 6

  /** Adds something that happens once, when the scheduler chooses it. */
  function plan(label: string, run: () => void | Promise<void>): void {
    const event = { label, run: () => (events.splice(events.indexOf(event), 1), run()) }
    events.push(event)
  }

  const alive = () => world.workers.filter(({ isDead, deps }) => !isDead && !deps.stopping.aborted)
  const pickWorker = () => pick(choices, alive())

  function planTask(name: string, work: (worker: Worker) => Promise<void>): void {
    plan(name, () => {
      const worker = pickWorker()
      world.start(worker, { name, work: () => work(worker) })
    })
  }

  function planJob(work: SimulatedWork): void {
    plan(`start ${queueOf(work)}`, () => startJob(pickWorker(), work))
  }

  /** Runs a job as BullMQ does: a job that fails, or whose process was killed, runs again. */
  function startJob(worker: Worker, work: SimulatedWork): void {
    const jobs = activeJobs.get(worker) ?? new Map<string, Task[]>()
    activeJobs.set(worker, jobs)
    const earlier = jobs.get(work.id) ?? []
    const task = world.start(worker, {
      name: queueOf(work),
      work: () => runJob(worker.deps, work),
      onEnd: (error) => {
        if (error && retriesLeft-- > 0) planJob(work)
      },
    })
    jobs.set(work.id, [...earlier, task])
  }

  const readWork = () => readOpenWork(database, ctx)

  /** What the heartbeat of a worker does. */
  async function beat({ deps, releaseOrphaned }: Worker): Promise<void> {
    await recordHeartbeat(deps.db, deps.workerId)
    await recoverOrphanedClaims(deps.db)
    await releaseOrphaned()
  }

  async function publish({ deps }: Worker): Promise<void> {
    const found = await findPublishableWork(deps.db, 0)
    const own = found.filter(({ job }) => job.workspaceId === ctx.workspaceId)
    for (const { job } of own) planJob(job)
    await markPublished(
      deps.db,
      own.map(({ job }) => job),
    )
  }

  async function kill(): Promise<void> {
    const worker = pickWorker()
    scheduler.kill(worker)
    await world.startWorker()
    for (const work of await readWork()) planJob(work)
  }

  /** Makes a worker count as crashed, although it goes on. */
  async function expire(): Promise<void> {
    const worker = pickWorker()
    await expireWorkerHeartbeat(database.db, worker.deps.workerId)
    const other = alive().find((one) => one !== worker)
    if (scenario.isRecoveredAtOnce && other) world.start(other, { name: 'heartbeat', work: () => beat(other) })
  }

  /** As the close of a worker. */
  function shutDown(): void {
    if (alive().length < 2) return
    const worker = pickWorker()
    const jobs = [...(activeJobs.get(worker)?.values() ?? [])].flat()
    const isBusy = () => jobs.some(({ isEnded }) => !isEnded)
    worker.stop()
    const ended = waitFor(() => !isBusy())
    const work = async () => {
      await ended
      await deregisterWorker(worker.deps.db, worker.deps.workerId)
      await recoverOrphanedClaims(worker.deps.db)
    }
    world.start(worker, { name: 'shut down', work }, isBusy)
  }

  async function waitFor(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise((resolve) => setImmediate(resolve))
  }

  async function planEvents(): Promise<void> {
    await world.startWorker()
    await world.startWorker()
    const api = world.openProcess('api')
    const work = await readWork()
    for (const one of [...work, ...work]) planJob(one)
    for (const { name, call } of scenario.calls) {
      if (choices.next() > 0.4)
        plan(`call ${name}`, () => void world.start(api, { name, work: () => call({ ...ctx, db: api.db }) }))
    }
    // An orphaned claim is released by the second heartbeat.
    for (let n = 0; n < pick(choices, [0, 1, 3]); n++) planTask('heartbeat', beat)
    if (choices.next() > 0.5) planTask('publish', publish)
    if (choices.next() > 0.5) plan('kill', kill)
    if (choices.next() > 0.5) plan('expire a heartbeat', expire)
    if (choices.next() > 0.7) plan('shut down', shutDown)
  }

  async function runWithFaults(): Promise<void> {
    await planEvents()
    // Half of the seeds. Any digits of an earlier choice decide, so that a shortened schedule keeps no priorities.
    if (((choices.taken[0] ?? 0) * 23) % 1 > 0.5) scheduler.usePriorities()
    // Few kinds of faults at a higher rate reach deeper than all kinds at a low one.
    const share = pick(choices, [0.3, 0.6])
    const kinds = faultKinds.filter((kind) => choices.next() > share && faults.includes(kind))
    scheduler.setFaults(pick(choices, [0, 0.1, 0.2, 0.4]), kinds)
    for (let steps = 0; steps < maxSteps && (await scheduler.step(events)); steps++);
    events.length = 0
    scheduler.setFaults(0, [])
  }

  const runTasks = async () => {
    while (await scheduler.step([]));
  }

  /** Without faults, all work ends. Returns what does not. */
  async function runToEnd(): Promise<string[]> {
    await runTasks()
    await scenario.finish()
    const last = await world.startWorker('last worker')
    for (const { deps } of world.workers)
      if (deps !== last.deps) await expireWorkerHeartbeat(database.db, deps.workerId)
    for (let round = 0; round < maxRounds; round++) {
      world.start(last, { name: 'heartbeat', work: () => beat(last) })
      await runTasks()
      const work = await readWork()
      if (work.length === 0) return listClaims(database, ctx)
      for (const one of work) startJob(last, one)
      await runTasks()
    }
    return [`some work never ends: ${(await readWork()).map(queueOf).join(', ')}`]
  }

  return { runWithFaults, runToEnd }
}
