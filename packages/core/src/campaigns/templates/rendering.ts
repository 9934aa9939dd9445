/**
 * Templates are customers' programs, and what a program does cannot be interrupted from its own thread. So they are parsed
 * and rendered in a thread beside, which is ended and replaced when one of them takes too long or too much memory. It does
 * one thing at a time, and workspaces take turns: a slow template costs another workspace its deadline, and no more.
 */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { AppError, invalidField } from '../../kernel/errors.ts'
import type { WorkspaceId } from '../../kernel/ids.ts'
import type {
  ThreadResponse,
  PlainMail,
  RenderPreviewTask,
  EncodedRanges,
  FaultyMail,
  RenderMailsTask,
  Task,
} from './rendering-thread.ts'
import {
  findExcess,
  type PartialTemplateSources,
  type TemplateFault,
  templateFields,
  type TemplateSources,
} from './template-sources.ts'

/** The time for one look at templates, at least: as they are saved, previewed or tested. */
const minDeadlineMs = 1_000
/** The time for a group of recipients: so much for each; but for a few, or for a long letter, as much as for one look. */
const msPerRecipient = 50
const charactersPerMs = 500
/** Into so many a deadline is cut. */
const deadlineSteps = 10
/** So many of one workspace may wait. */
const maxQueueLength = 20

/** Ours, and large beside what the limits in liquid.ts let a template have: what meets them does so little by little. */
const resourceLimits = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 16 }

/** Checks templates as they are saved. A broken one is invalid, with line and column; so is one that takes too long. */
export async function checkTemplates(workspaceId: WorkspaceId, sources: PartialTemplateSources): Promise<void> {
  const fault = findExcess(sources) ?? (await parseInThread(workspaceId, sources))
  if (fault) throw invalidField(fault.field, `${fault.field}: ${fault.message}`)
}

async function parseInThread(
  workspaceId: WorkspaceId,
  sources: PartialTemplateSources,
): Promise<TemplateFault | undefined> {
  if (!templateFields.some((field) => sources[field])) return undefined
  return (await queueTask(workspaceId, { kind: 'check', sources }, minDeadlineMs)).fault
}

/** A mail of text and HTML, see `encodePart`. */
export interface EncodedParts {
  subject: string
  parts: Uint8Array[]
}

/**
 * Renders for a group of recipients, each of whom gets a mail or what is wrong with it, in order: when the thread had to be
 * ended, the same for everyone. The templates are parsed once, unless many campaigns are sent at a time.
 */
export async function renderMails(
  workspaceId: WorkspaceId,
  { sources, recipients }: Omit<RenderMailsTask, 'kind'>,
): Promise<(EncodedParts | PlainMail | FaultyMail)[]> {
  const rendered: (EncodedParts | PlainMail | FaultyMail)[] = []
  while (rendered.length < recipients.length) {
    const remaining = recipients.slice(rendered.length)
    const deadlineMs = computeDeadlineMs(sources, remaining.length)
    const response = await queueTask(workspaceId, { kind: 'mail', sources, recipients: remaining }, deadlineMs)
    const { fault, mails = [], bytes = new ArrayBuffer() } = response
    if (fault) return recipients.map(() => ({ fault }))
    const toEncodedParts = ({ subject, parts }: EncodedRanges) => ({
      subject,
      parts: parts.map(([start, end]) => new Uint8Array(bytes, start, end - start)),
    })
    rendered.push(...mails.map((mail) => ('parts' in mail ? toEncodedParts(mail) : mail)))
  }
  return rendered
}

/** The same as text, of one, for whoever looks at it. */
export async function renderPreview(
  workspaceId: WorkspaceId,
  input: Omit<RenderPreviewTask, 'kind'>,
): Promise<PlainMail | FaultyMail> {
  const { fault, mail } = await queueTask(
    workspaceId,
    { kind: 'preview', ...input },
    computeDeadlineMs(input.sources, 1),
  )
  if (fault) return { fault }
  if (!mail) throw new Error('The rendering thread returned no mail')
  return mail
}

function computeDeadlineMs(sources: TemplateSources, recipientCount: number): number {
  const characters = templateFields.reduce((sum, field) => sum + (sources[field]?.length ?? 0), 0)
  return Math.ceil(Math.max(minDeadlineMs, characters / charactersPerMs, recipientCount * msPerRecipient))
}

/** Ends the thread as soon as nobody waits for it. Whoever asks again gets a new one. */
export async function stopRenderingThread(): Promise<void> {
  if (!processing) return terminateThread()
  await processing
  return stopRenderingThread()
}

interface Job {
  task: Task
  deadlineMs: number
  resolve: (response: ThreadResponse) => void
  reject: (error: unknown) => void
}

interface Thread {
  worker: Worker
  /** Which of the templates it is at, by its place in `templateFields`. */
  currentField: Int32Array
}

let thread: Thread | undefined
let processing: Promise<void> | undefined
/** By workspace. The first of the first has its turn next. */
const queues = new Map<string, Job[]>()

function queueTask(workspaceId: WorkspaceId, task: Task, deadlineMs: number): Promise<ThreadResponse> {
  return new Promise((resolve, reject) => {
    const queue = queues.get(workspaceId) ?? []
    if (queue.length >= maxQueueLength)
      throw new AppError('throttled', 'Too many templates wait', { retryAfterSeconds: 1 })
    queue.push({ task, deadlineMs, resolve, reject })
    queues.set(workspaceId, queue)
    processing ??= processQueues()
  })
}

async function processQueues(): Promise<void> {
  for (let job = takeNextJob(); job; job = takeNextJob()) await runJob(job).then(job.resolve, job.reject)
  thread?.worker.unref()
  processing = undefined
}

function takeNextJob(): Job | undefined {
  const [first] = queues
  if (!first) return undefined
  const [workspaceId, queue] = first
  const job = queue.shift()
  queues.delete(workspaceId)
  if (queue.length > 0) queues.set(workspaceId, queue)
  return job
}

/** The deadline counts from here: no time in the line, nor the start of a thread. */
async function runJob(job: Job): Promise<ThreadResponse> {
  thread ??= await startThread()
  thread.worker.ref()
  const result = await waitForResult(thread.worker, job)
  if (result.kind === 'responded') return result.response
  const field = templateFields[thread.currentField[0] ?? 0] ?? 'subject'
  await terminateThread()
  if (result.kind === 'crashed' && result.error.code !== 'ERR_WORKER_OUT_OF_MEMORY') throw result.error
  const limit = result.kind === 'timed-out' ? `time limit of ${job.deadlineMs} ms` : 'memory limit'
  return { fault: { field, message: `template ${limit} exceeded`, isSlow: true } }
}

type JobResult =
  | { kind: 'responded'; response: ThreadResponse }
  | { kind: 'timed-out' }
  | { kind: 'crashed'; error: NodeJS.ErrnoException }

function waitForResult(worker: Worker, { task, deadlineMs }: Job): Promise<JobResult> {
  return new Promise((resolve) => {
    const onMessage = (response: ThreadResponse) => finish({ kind: 'responded', response })
    const onError = (error: Error) => finish({ kind: 'crashed', error })
    // Counted in steps, as a process that stood still or starved comes late to each of them, and so does its thread.
    let steps = 0
    const timer = setInterval(() => {
      steps += 1
      // One turn more: the answer may be there already.
      if (steps === deadlineSteps) setImmediate(() => finish({ kind: 'timed-out' }))
    }, deadlineMs / deadlineSteps)
    worker.on('message', onMessage).on('error', onError).postMessage(task)

    function finish(result: JobResult) {
      clearInterval(timer)
      worker.off('message', onMessage).off('error', onError)
      resolve(result)
    }
  })
}

async function startThread(): Promise<Thread> {
  const currentField = new Int32Array(new SharedArrayBuffer(4))
  const script = new URL('./rendering-thread.ts', import.meta.url)
  const worker = new Worker(script, { workerData: currentField, resourceLimits, env: {} })
  // Whoever waits for it hears of its errors; with nobody waiting they would end this process.
  worker.on('error', () => {})
  await once(worker, 'message')
  return { worker, currentField }
}

async function terminateThread(): Promise<void> {
  const terminated = thread
  thread = undefined
  await terminated?.worker.terminate()
}
