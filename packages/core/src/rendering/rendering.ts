/**
 * Customers write the templates, and a thread cannot interrupt its own work. So templates are parsed and rendered in a
 * separate thread, which is terminated and replaced if a template takes too long or too much memory. The thread runs
 * one task at a time, and workspaces take turns: a turn of a slow group ends after 100 ms. A template that takes longer
 * for one recipient delays another workspace by at most its deadline, counted in processor time.
 */
import { type InterruptibleThread, startThread } from '../kernel/concurrency/interruptible-thread.ts'
import { limitInTurns } from '../kernel/concurrency/limit-in-turns.ts'
import { AppError } from '../kernel/errors.ts'
import type { WorkspaceId } from '../kernel/ids.ts'
import type { RenderingDeadlines } from '../request/context.ts'
import type {
  CheckTask,
  ThreadResponse,
  PlainMail,
  RenderPreviewTask,
  EncodedRanges,
  FaultyMail,
  RenderMailsTask,
  Task,
} from './rendering-thread.ts'
import { findExcess, type TemplateFault, templateFields, type TemplateSources } from './template-sources.ts'

/** Parsing has no loops: a check of long tags takes a few hundred milliseconds, more on a busy machine. */
export const defaultDeadlines: RenderingDeadlines = { checkMs: 3_000, minMs: 1_000, charactersPerMs: 500 }
/** The deadline of a group also grows with the number of recipients. */
const msPerRecipient = 50
/** Each task ends at its deadline, so a caller waits for its turn and not for this timeout. */
const inTurn = limitInTurns(1, {
  maxWaiting: 20,
  maxWaitMs: 600_000,
  message: 'Too many template renderings are queued',
})

/** Well above the memory that liquid.ts allows: a thread reaches these limits only with many small allocations. */
const resourceLimits = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 16 }

/** Finds the faults of templates. A template that is too long to be checked in time has one fault. */
export async function findTemplateFaults(
  workspaceId: WorkspaceId,
  { sources, names }: Omit<CheckTask, 'kind'>,
  { checkMs } = defaultDeadlines,
): Promise<TemplateFault[]> {
  const excess = findExcess(sources)
  if (excess) return [excess]
  const task: CheckTask = { kind: 'check', sources, names }
  const { fault, faults = [] } = await queueTask(workspaceId, { task, deadlineMs: checkMs })
  return fault ? [fault] : faults
}

/** A mail with a text part and an HTML part, both encoded by `encodePart`. */
export interface EncodedParts {
  subject: string
  parts: Uint8Array[]
}

/**
 * Renders the mails of a group of recipients. Returns a mail or a fault for each recipient, in their order. If the
 * thread had to be terminated, all recipients have the same fault.
 */
export async function renderMails(
  workspaceId: WorkspaceId,
  { sources, recipients }: Omit<RenderMailsTask, 'kind' | 'sharedLinks'>,
  deadlines = defaultDeadlines,
): Promise<(EncodedParts | PlainMail | FaultyMail)[]> {
  const rendered: (EncodedParts | PlainMail | FaultyMail)[] = []
  const deadlineMs = computeDeadlineMs(sources, recipients.length, deadlines)
  let leftMs = deadlineMs
  let sharedLinks: ReadonlySet<string> | undefined
  while (rendered.length < recipients.length) {
    const remaining = recipients.slice(rendered.length)
    const task: RenderMailsTask = { kind: 'mail', sources, recipients: remaining, sharedLinks }
    const response = await queueTask(workspaceId, { task, deadlineMs, leftMs: Math.max(1, leftMs) })
    sharedLinks = response.sharedLinks
    const { fault, mails = [], bytes = new ArrayBuffer(), characters = 0, threadMs = 0 } = response
    // Long mails have more time.
    leftMs += characters / deadlines.charactersPerMs - threadMs
    if (fault) return recipients.map(() => ({ fault }))
    const toEncodedParts = ({ subject, parts }: EncodedRanges) => ({
      subject,
      parts: parts.map(([start, end]) => new Uint8Array(bytes, start, end - start)),
    })
    rendered.push(...mails.map((mail) => ('parts' in mail ? toEncodedParts(mail) : mail)))
  }
  return rendered
}

/** Renders the mail of one recipient, not encoded. */
export async function renderPreview(
  workspaceId: WorkspaceId,
  input: Omit<RenderPreviewTask, 'kind'>,
  deadlines = defaultDeadlines,
): Promise<PlainMail | FaultyMail> {
  const deadlineMs = computeDeadlineMs(input.sources, 1, deadlines)
  const { fault, mail } = await queueTask(workspaceId, { task: { kind: 'preview', ...input }, deadlineMs })
  if (fault) return { fault }
  if (!mail) throw new Error('The rendering thread returned no mail')
  return mail
}

export function createRenderingError(
  { field, message }: TemplateFault,
  code: 'validation_error' | 'wrong_state' = 'validation_error',
): AppError {
  const issue = `The template cannot be rendered: ${message}`
  return new AppError(code, issue, { issues: [{ path: field, message: issue }] })
}

function computeDeadlineMs(
  sources: TemplateSources,
  recipientCount: number,
  { minMs, charactersPerMs }: RenderingDeadlines,
): number {
  const characters = templateFields.reduce((sum, field) => sum + (sources[field]?.length ?? 0), 0)
  return Math.ceil(Math.max(minMs, characters / charactersPerMs, recipientCount * msPerRecipient))
}

/** Terminates the thread once no task waits for it. A later task starts a new thread. */
export async function stopRenderingThread(): Promise<void> {
  while (queued.size > 0) await Promise.allSettled(queued)
  await terminateThread()
}

interface Work {
  task: Task
  deadlineMs: number
  /** What earlier tasks of the group leave of it. */
  leftMs?: number
}

interface Thread extends InterruptibleThread<Task, ThreadResponse> {
  /** The template that the thread is processing, as an index of `templateFields`. */
  currentField: Int32Array
}

let thread: Thread | undefined
/** The tasks that wait or run. */
const queued = new Set<Promise<ThreadResponse>>()

function queueTask(workspaceId: WorkspaceId, work: Work): Promise<ThreadResponse> {
  const response = inTurn(workspaceId, () => runTask(work)).finally(() => queued.delete(response))
  queued.add(response)
  return response
}

/** The deadline does not include the time in the queue or the start of the thread. */
async function runTask({ task, deadlineMs, leftMs = deadlineMs }: Work): Promise<ThreadResponse> {
  thread ??= await openThread()
  const result = await thread.run(task, leftMs)
  if (result.kind === 'responded') return result.response
  const field = templateFields[thread.currentField[0] ?? 0] ?? 'subject'
  await terminateThread()
  if (result.kind === 'crashed' && result.error.code !== 'ERR_WORKER_OUT_OF_MEMORY') throw result.error
  const limit = result.kind === 'timed-out' ? `time limit of ${deadlineMs} ms` : 'memory limit'
  return { fault: { field, message: `template ${limit} exceeded`, isSlow: true } }
}

async function openThread(): Promise<Thread> {
  const currentField = new Int32Array(new SharedArrayBuffer(4))
  const script = new URL('./rendering-thread.ts', import.meta.url)
  const started = await startThread<Task, ThreadResponse>(script, { workerData: currentField, resourceLimits })
  return { ...started, currentField }
}

async function terminateThread(): Promise<void> {
  const terminated = thread
  thread = undefined
  await terminated?.terminate()
}
