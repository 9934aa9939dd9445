/**
 * Templates are customers' programs, and what a program does cannot be interrupted from its own thread. So they are parsed
 * and rendered in a thread beside, which is ended and replaced when one of them takes too long or too much memory. It does
 * one thing at a time, and workspaces take turns: a slow template costs another workspace its deadline, and no more.
 */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { AppError, invalidField } from '../../kernel/errors.ts'
import type { WorkspaceId } from '../../kernel/ids.ts'
import type { Answer, Copy, Copying, Encoded, Faulty, Rendering, Task } from './rendering-thread.ts'
import {
  findExcess,
  type GivenSources,
  type TemplateFault,
  templateFields,
  type TemplateSources,
} from './template-sources.ts'

/** The time for one look at templates, at least: as they are saved, previewed or tested. */
const lookMs = 1_000
/** The time for a group of recipients: so much for each; but for a few, or for a long letter, as much as for one look. */
const recipientMs = 50
const charactersPerMs = 500
/** Into so many a deadline is cut. */
const deadlineSteps = 10
/** So many of one workspace may wait. */
const longestLine = 20

/** Ours, and large beside what the limits in liquid.ts let a template have: what meets them does so little by little. */
const resourceLimits = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 16 }

/** Checks templates as they are saved. A broken one is invalid, with line and column; so is one that takes too long. */
export async function checkTemplates(workspaceId: WorkspaceId, sources: GivenSources): Promise<void> {
  const fault = findExcess(sources) ?? (await parse(workspaceId, sources))
  if (fault) throw invalidField(fault.field, `${fault.field}: ${fault.message}`)
}

async function parse(workspaceId: WorkspaceId, sources: GivenSources): Promise<TemplateFault | undefined> {
  if (!templateFields.some((field) => sources[field])) return undefined
  return (await ask(workspaceId, { kind: 'check', sources }, lookMs)).fault
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
  { sources, recipients }: Omit<Rendering, 'kind'>,
): Promise<(EncodedParts | Copy | Faulty)[]> {
  const rendered: (EncodedParts | Copy | Faulty)[] = []
  while (rendered.length < recipients.length) {
    const others = recipients.slice(rendered.length)
    const deadlineMs = deadlineOf(sources, others.length)
    const answer = await ask(workspaceId, { kind: 'mail', sources, recipients: others }, deadlineMs)
    const { fault, mails = [], bytes = new ArrayBuffer() } = answer
    if (fault) return recipients.map(() => ({ fault }))
    const read = ({ subject, parts }: Encoded) => ({
      subject,
      parts: parts.map(([start, end]) => new Uint8Array(bytes, start, end - start)),
    })
    rendered.push(...mails.map((mail) => ('parts' in mail ? read(mail) : mail)))
  }
  return rendered
}

/** The same as text, of one, for whoever looks at it. */
export async function renderCopy(workspaceId: WorkspaceId, given: Omit<Copying, 'kind'>): Promise<Copy | Faulty> {
  const { fault, copy } = await ask(workspaceId, { kind: 'copy', ...given }, deadlineOf(given.sources, 1))
  if (fault) return { fault }
  if (!copy) throw new Error('Nothing was rendered')
  return copy
}

function deadlineOf(sources: TemplateSources, people: number): number {
  const characters = templateFields.reduce((sum, field) => sum + (sources[field]?.length ?? 0), 0)
  return Math.ceil(Math.max(lookMs, characters / charactersPerMs, people * recipientMs))
}

/** Ends the thread as soon as nobody waits for it. Whoever asks again gets a new one. */
export async function stopRenderingThread(): Promise<void> {
  if (!working) return endThread()
  await working
  return stopRenderingThread()
}

interface Job {
  task: Task
  deadlineMs: number
  resolve: (answer: Answer) => void
  reject: (error: unknown) => void
}

interface Thread {
  worker: Worker
  /** Which of the templates it is at, by its place in `templateFields`. */
  place: Int32Array
}

let thread: Thread | undefined
let working: Promise<void> | undefined
/** By workspace. The first of the first has its turn next. */
const lines = new Map<string, Job[]>()

function ask(workspaceId: WorkspaceId, task: Task, deadlineMs: number): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const line = lines.get(workspaceId) ?? []
    if (line.length >= longestLine) throw new AppError('throttled', 'Too many templates wait', { retryAfterSeconds: 1 })
    line.push({ task, deadlineMs, resolve, reject })
    lines.set(workspaceId, line)
    working ??= workOff()
  })
}

async function workOff(): Promise<void> {
  for (let job = nextJob(); job; job = nextJob()) await run(job).then(job.resolve, job.reject)
  thread?.worker.unref()
  working = undefined
}

function nextJob(): Job | undefined {
  const [first] = lines
  if (!first) return undefined
  const [workspaceId, line] = first
  const job = line.shift()
  lines.delete(workspaceId)
  if (line.length > 0) lines.set(workspaceId, line)
  return job
}

/** The deadline counts from here: no time in the line, nor the start of a thread. */
async function run(job: Job): Promise<Answer> {
  thread ??= await startThread()
  thread.worker.ref()
  const end = await endOf(thread.worker, job)
  if (end.kind === 'answered') return end.answer
  const field = templateFields[thread.place[0] ?? 0] ?? 'subject'
  await endThread()
  if (end.kind === 'died' && end.error.code !== 'ERR_WORKER_OUT_OF_MEMORY') throw end.error
  const what = end.kind === 'late' ? `time limit of ${job.deadlineMs} ms` : 'memory limit'
  return { fault: { field, message: `template ${what} exceeded`, isSlow: true } }
}

type End = { kind: 'answered'; answer: Answer } | { kind: 'late' } | { kind: 'died'; error: NodeJS.ErrnoException }

function endOf(worker: Worker, { task, deadlineMs }: Job): Promise<End> {
  return new Promise((resolve) => {
    const onMessage = (answer: Answer) => settle({ kind: 'answered', answer })
    const onError = (error: Error) => settle({ kind: 'died', error })
    // Counted in steps, as a process that stood still or starved comes late to each of them, and so does its thread.
    let steps = 0
    const timer = setInterval(() => {
      steps += 1
      // One turn more: the answer may be there already.
      if (steps === deadlineSteps) setImmediate(() => settle({ kind: 'late' }))
    }, deadlineMs / deadlineSteps)
    worker.on('message', onMessage).on('error', onError).postMessage(task)

    function settle(end: End) {
      clearInterval(timer)
      worker.off('message', onMessage).off('error', onError)
      resolve(end)
    }
  })
}

async function startThread(): Promise<Thread> {
  const place = new Int32Array(new SharedArrayBuffer(4))
  const script = new URL('./rendering-thread.ts', import.meta.url)
  const worker = new Worker(script, { workerData: place, resourceLimits, env: {} })
  // Whoever waits for it hears of its errors; with nobody waiting they would end this process.
  worker.on('error', () => {})
  await once(worker, 'message')
  return { worker, place }
}

async function endThread(): Promise<void> {
  const ended = thread
  thread = undefined
  await ended?.worker.terminate()
}
