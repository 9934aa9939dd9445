/**
 * A thread cannot interrupt its own work. Work that an untrusted input can make long therefore runs in a separate
 * thread, one task at a time, which is terminated if a task takes too long or too much memory.
 */
import { once } from 'node:events'
import { type ResourceLimits, Worker } from 'node:worker_threads'

export type ThreadResult<Response> =
  | { kind: 'responded'; response: Response }
  | { kind: 'timed-out' }
  | { kind: 'crashed'; error: NodeJS.ErrnoException }

export interface InterruptibleThread<Task, Response> {
  /** Runs a task. The deadline is counted in processor time. After any result but a response, terminate the thread. */
  run(task: Task, deadlineMs: number): Promise<ThreadResult<Response>>
  terminate(): Promise<void>
}

const deadlineSteps = 10
/** The least that a step counts, so that a thread which only waits is ended too. */
const minStep = 1 / 30

/** Starts a thread, whose script sends a first message when it is ready. It keeps no process running without a task. */
export async function startThread<Task, Response>(
  script: URL,
  options: { resourceLimits: ResourceLimits; workerData?: unknown },
): Promise<InterruptibleThread<Task, Response>> {
  const worker = new Worker(script, { ...options, env: {} })
  // `runTask` handles errors. An error at any other time would end this process without a listener.
  worker.on('error', () => {})
  await once(worker, 'message')
  worker.unref()
  return {
    async run(task, deadlineMs) {
      worker.ref()
      try {
        return await runTask<Response>(worker, task, deadlineMs)
      } finally {
        worker.unref()
      }
    },
    async terminate() {
      await worker.terminate()
    },
  }
}

function runTask<Response>(worker: Worker, task: unknown, deadlineMs: number): Promise<ThreadResult<Response>> {
  return new Promise((resolve) => {
    const onMessage = (response: Response) => finish({ kind: 'responded', response })
    const onError = (error: Error) => finish({ kind: 'crashed', error })
    // Counted in steps, because time also passes while the whole process is suspended or starved of processor time. An
    // interval does not make up for the steps that it missed.
    const stepMs = deadlineMs / deadlineSteps
    let steps = 0
    let usage = process.cpuUsage()
    const timer = setInterval(() => {
      const { user, system } = process.cpuUsage(usage)
      usage = process.cpuUsage()
      steps += Math.min(1, Math.max((user + system) / 1_000 / stepMs, minStep))
      // The response may already be in the queue of the event loop.
      if (steps >= deadlineSteps) setImmediate(() => finish({ kind: 'timed-out' }))
    }, stepMs)
    worker.on('message', onMessage).on('error', onError).postMessage(task)

    function finish(result: ThreadResult<Response>) {
      clearInterval(timer)
      worker.off('message', onMessage).off('error', onError)
      resolve(result)
    }
  })
}
