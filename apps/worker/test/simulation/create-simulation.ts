/** What happens in a run: jobs, calls and faults in an order that the choices decide, and then an end without faults. */
import type { Database } from '@rapport/core/db/client.ts'
import { findPublishableWork, markPublished } from '@rapport/core/work/publish.ts'
import { kindsOfWork } from '@rapport/core/work/kinds.ts'
import { deregisterWorker, recordHeartbeat } from '@rapport/core/work/worker-registry.ts'
import { recoverOrphanedClaims } from '@rapport/core/operations/recovery/recover-claims.ts'
import { drain } from '../fixtures.ts'
import { handlers } from '../../src/queues/queue-handlers.ts'
import type { WorkerDeps } from '../../src/process/worker-deps.ts'
import { type Choices, pick } from './choices.ts'
import { expireHeartbeat, listClaims, readOpenWork } from './claims.ts'
import { statementFaults } from './gate-connections-patch.ts'
import type { Scheduler } from './scheduler.ts'
import type { SimulationEvent, Task } from './tasks.ts'
import { mailFaults, type Scenario, type SimulatedCall, type SimulatedWork, type Worker, type World } from './world.ts'

/** The queue of a job, for the trace. */
const queueOf = ({ kind }: SimulatedWork) => kindsOfWork[kind].queue

async function runJob(deps: WorkerDeps, job: SimulatedWork): Promise<void> {
  if (job.kind === 'DRAIN') await drain(deps, job)
  else await handlers[job.kind](deps, job)
}

const maxSteps = 500
const maxRounds = 12
export const faultKinds = [...statementFaults, ...mailFaults, 'responds 500']

interface Parts {
  scenario: Scenario
  world: World
  scheduler: Scheduler
  database: Database
  choices: Choices
  faults: readonly string[]
}

export function createSimulation({ scenario, world, scheduler, database, choices, faults }: Parts) {
  const { ctx } = scenario
  const events: SimulationEvent[] = []
  const jobs = new Map<Worker, Task[]>()
  let retriesLeft = 6
  let freezesLeft = 0
  let isEnding = false

  /** Adds something that happens once, when the scheduler chooses it. */
  function plan(label: string, run: () => void | Promise<void>): void {
    const event = { label, run: () => (events.splice(events.indexOf(event), 1), run()) }
    events.push(event)
  }

  const isAlive = ({ isDead, isFrozen, deps }: Worker) => !isDead && !isFrozen && !deps.stopping.aborted
  const alive = () => world.workers.filter(isAlive)
  /** A worker that is frozen starts nothing before it continues. */
  function pickWorker(): Worker {
    const candidates = alive()
    return pick(choices, candidates.length > 0 ? candidates : world.workers.filter(({ isDead }) => !isDead))
  }

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
  function startJob(worker: Worker, work: SimulatedWork, interruption = chooseFreeze(worker)): void {
    const task = world.start(worker, {
      name: queueOf(work),
      work: () => runJob(worker.deps, work),
      onEnd: (error) => {
        if (error && retriesLeft-- > 0) planJob(work)
      },
      interruption,
    })
    jobs.set(worker, [...(jobs.get(worker) ?? []), task])
  }

  const unacknowledged = new Set<SimulatedCall>()
  /** Receives a report of a sender, who repeats it after an error, and after a kill: the response may have been lost. */
  function receive(worker: Worker, report: SimulatedCall): void {
    unacknowledged.add(report)
    const { name, call } = report
    const onEnd = (error: unknown) => {
      if (!error) unacknowledged.delete(report)
      else if (retriesLeft-- > 0) planRepeat(report)
    }
    world.start(worker, { name, work: () => call({ ...ctx, db: worker.deps.db }), onEnd })
  }

  const planRepeat = (report: SimulatedCall) => plan(`repeat ${report.name}`, () => receive(pickWorker(), report))

  const readWork = () => readOpenWork(database, ctx)

  /** What the heartbeat of a worker does. */
  async function beat({ deps, releaseOrphaned }: Worker): Promise<void> {
    await recordHeartbeat(deps.db, deps.workerId)
    await recoverOrphanedClaims(deps.db)
    await releaseOrphaned()
  }

  async function publish({ deps }: Worker): Promise<void> {
    const found = await findPublishableWork(deps.db, 0)
    const own = found.filter(({ workspaceId }) => workspaceId === ctx.workspaceId)
    for (const job of own) planJob(job)
    await markPublished(deps.db, own)
  }

  async function kill(): Promise<void> {
    const worker = pickWorker()
    scheduler.kill(worker)
    await world.startWorker()
    for (const work of await readWork()) planJob(work)
    for (const report of unacknowledged) planRepeat(report)
  }

  /** Makes a worker count as crashed, although it goes on. */
  async function expire(): Promise<void> {
    const worker = pickWorker()
    await expireHeartbeat(database, worker.deps.workerId)
    const other = alive().find((one) => one !== worker)
    if (scenario.isRecoveredAtOnce && other) world.start(other, { name: 'heartbeat', work: () => beat(other) })
  }

  /** Some workers freeze at the start of a job, right after a claim for example. */
  function chooseFreeze(worker: Worker): Task['interruption'] {
    if (freezesLeft === 0) return undefined
    const afterSteps = pick(choices, [0, 1, 2, 5])
    return afterSteps > 0 ? { afterSteps, event: { label: 'freeze', run: () => freeze(worker) } } : undefined
  }

  /**
   * A worker does nothing for a while. It counts as crashed, so another one recovers its claims, and BullMQ starts its
   * jobs there. It continues amid that, or when such a job has begun, which then pauses.
   */
  async function freeze(worker: Worker): Promise<void> {
    if (freezesLeft === 0 || worker.isFrozen) return
    freezesLeft -= 1
    worker.isFrozen = true
    const other = await world.startWorker()
    const afterSteps = pick(choices, [0, 0, 1, 1, 2, 5])
    if (afterSteps === 0) plan('continue', () => resume(worker))
    const startAgain = (work: SimulatedWork) => {
      const target = isAlive(other) ? other : pickWorker()
      const event = { label: 'continue, and another pauses', run: () => (resume(worker), pause(target)) }
      startJob(target, work, { afterSteps, event })
    }
    const work = await readWork()
    const onEnd = () => {
      for (const one of work) plan(`start ${queueOf(one)}`, () => startAgain(one))
    }
    await expireHeartbeat(database, worker.deps.workerId)
    world.start(other, { name: 'heartbeat', work: () => beat(other), onEnd })
  }

  const resume = (worker: Worker) => void (worker.isFrozen = false)

  function pause(worker: Worker): void {
    // Nothing would let it continue.
    if (isEnding) return
    worker.isFrozen = true
    plan('continue', () => resume(worker))
  }

  /** As the close of a worker. */
  function shutDown(): void {
    if (alive().length < 2) return
    const worker = pickWorker()
    const isBusy = () => jobs.get(worker)?.some(({ isEnded }) => !isEnded) ?? false
    worker.stop()
    const ended = waitFor(() => !isBusy())
    const work = async () => {
      await ended
      await deregisterWorker(worker.deps.db, worker.deps.workerId)
      await recoverOrphanedClaims(worker.deps.db)
    }
    world.start(worker, { name: 'shut down', work, isBlocked: isBusy })
  }

  async function waitFor(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise((resolve) => setImmediate(resolve))
  }

  async function planEvents(): Promise<void> {
    if (scenario.isRecoveredAtOnce && choices.next() > 0.5) freezesLeft = 2
    await world.startWorker()
    await world.startWorker()
    const api = world.openProcess('api')
    const work = await readWork()
    for (const one of [...work, ...work]) planJob(one)
    for (const one of scenario.calls) {
      const { name, call, isRepeated = false } = one
      const startInApi = () => void world.start(api, { name, work: () => call({ ...ctx, db: api.db }) })
      const start = isRepeated ? () => receive(pickWorker(), one) : startInApi
      const share = choices.next()
      if (share > 0.8) await runBeforeJobs(start)
      else if (share > 0.4) plan(`call ${name}`, start)
    }
    // An orphaned claim is released by the second heartbeat.
    for (let n = 0; n < pick(choices, [0, 1, 3]); n++) planTask('heartbeat', beat)
    if (choices.next() > 0.5) planTask('publish', publish)
    if (choices.next() > 0.5) plan('kill', kill)
    if (choices.next() > 0.5) plan('expire a heartbeat', expire)
    if (choices.next() > 0.7) plan('shut down', shutDown)
  }

  async function runBeforeJobs(start: () => void): Promise<void> {
    start()
    await runTasks()
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
    isEnding = true
    freezesLeft = 0
    for (const worker of world.workers) worker.isFrozen = false
    scheduler.setFaults(0, [])
  }

  const runTasks = async () => {
    while (await scheduler.step([]));
  }

  /** Without faults, all work ends. Returns what does not. */
  async function runToEnd(): Promise<string[]> {
    await runTasks()
    const last = await world.startWorker('last worker')
    for (const { deps } of world.workers) if (deps !== last.deps) await expireHeartbeat(database, deps.workerId)
    for (let round = 0; round < maxRounds; round++) {
      await scenario.finish(scheduler.trace)
      for (const report of unacknowledged) receive(last, report)
      world.start(last, { name: 'heartbeat', work: () => beat(last) })
      await runTasks()
      const work = await readWork()
      if (work.length === 0 && unacknowledged.size === 0) return listClaims(database, ctx)
      for (const one of work) startJob(last, one)
      await runTasks()
    }
    return [`some work never ends: ${(await readWork()).map(queueOf).join(', ')}`]
  }

  return { runWithFaults, runToEnd }
}
