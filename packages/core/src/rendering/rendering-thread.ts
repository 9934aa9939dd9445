/** Parses and renders templates for rendering.ts, one response per task. Has few imports, to start fast. */
import { getHeapStatistics } from 'node:v8'
import { isMainThread, parentPort, workerData } from 'node:worker_threads'
import { encodePart, joinPieces, onePiece, type Parts } from '../mail/mime.ts'
import { findFaults } from './check-template.ts'
import type { TemplateNames } from './known-variables.ts'
import { renderLimitExceeded } from './engine/liquid.ts'
import {
  EmptyPartError,
  type PartialTemplateSources,
  type TemplateFault,
  type TemplateField,
  templateFields,
  type TemplateSources,
  type TemplateValues,
} from './template-sources.ts'
import { removeEmptyLinks } from './empty-links.ts'
import { compileTemplates, joinMail, type MailInPieces } from './compile-templates.ts'
import { findSharedLinks } from './shared-links.ts'
import { trackHtml, type Tracking } from './track-html.ts'

/** Checks templates that are about to be saved or sent. */
export interface CheckTask {
  kind: 'check'
  sources: PartialTemplateSources
  names: TemplateNames
}

interface TemplateRecipient {
  values: TemplateValues
  tracking: Tracking | undefined
}

/** Renders and encodes the mails of a group of recipients. */
export interface RenderMailsTask {
  kind: 'mail'
  sources: TemplateSources
  recipients: TemplateRecipient[]
  /** Those of the first response. */
  sharedLinks?: ReadonlySet<string> | undefined
}

/** Renders the mail of one recipient as plain strings, for a preview or a test mail. */
export interface RenderPreviewTask {
  kind: 'preview'
  sources: TemplateSources
  recipient: TemplateRecipient
  /** For a page that is the same for everybody. */
  withoutEmptyLinks?: boolean
}

export type Task = CheckTask | RenderMailsTask | RenderPreviewTask

export type PlainMail = { subject: string } & Parts<string>
/** Each part is a range `[start, end]` in the `bytes` of the response. */
export interface EncodedRanges {
  subject: string
  parts: [number, number][]
}

export interface FaultyMail {
  fault: TemplateFault
}

export interface ThreadResponse {
  /** The result of a check. */
  faults?: TemplateFault[]
  fault?: TemplateFault | undefined
  mail?: PlainMail
  /** At least one mail, in the order of the recipients. The caller sends another task for the remaining recipients. */
  mails?: (EncodedRanges | PlainMail | FaultyMail)[]
  bytes?: ArrayBuffer
  /** How long the mails are together. */
  characters?: number
  sharedLinks?: ReadonlySet<string> | undefined
  /** The processor time that the mails took. */
  threadMs?: number
}

/** The template that is being processed, as an index of `templateFields`. rendering.ts reads this shared memory. */
const currentField = workerData as Int32Array
const setCurrentField = (field: TemplateField) => void (currentField[0] = templateFields.indexOf(field))

const maxResponseBytes = 4_000_000
/** A slow group has its rest rendered in another turn, after those of other workspaces. */
const maxResponseMs = 100

function readThreadMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

/** All parts share one buffer, which is transferred to the other thread without a copy. */
function renderMails({ sources, recipients, sharedLinks }: RenderMailsTask): ThreadResponse {
  const startedAt = readThreadMs()
  const mails: (EncodedRanges | PlainMail | FaultyMail)[] = []
  const chunks: Buffer[] = []
  let size = 0
  let characters = 0
  const addPart = (part: Buffer[]): [number, number] => {
    const start = size
    chunks.push(...part)
    for (const chunk of part) size += chunk.length
    return [start, size]
  }
  const readSharedLinks = () => (sharedLinks ??= findSharedLinks(getCompiledTemplates(sources), recipients))
  for (const recipient of recipients) {
    const rendered = render(sources, recipient, readSharedLinks)
    if ('fault' in rendered) mails.push(rendered)
    else if (rendered.html) {
      const parts = [encodePart('plain', rendered.text), encodePart('html', rendered.html)]
      mails.push({ subject: rendered.subject, parts: parts.map(addPart) })
    } else {
      // nodemailer accepts encoded parts only in a multipart.
      const mail = joinMail(rendered)
      characters += mail.text.length
      mails.push(mail)
    }
    if (size + characters > maxResponseBytes || readThreadMs() - startedAt > maxResponseMs) break
  }
  const bytes = new Uint8Array(size)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  return {
    mails,
    bytes: bytes.buffer,
    characters: size + characters,
    sharedLinks,
    threadMs: readThreadMs() - startedAt,
  }
}

function render(
  sources: TemplateSources,
  { values, tracking }: TemplateRecipient,
  readSharedLinks: () => ReadonlySet<string> | undefined = () => undefined,
): MailInPieces | FaultyMail {
  try {
    const rendered = getCompiledTemplates(sources)(values)
    if (!tracking || !rendered.html) return rendered
    const html = joinPieces(rendered.html)
    const sharedLinks = tracking.clicks && tracking.onlySharedLinks ? readSharedLinks() : undefined
    return { ...rendered, html: onePiece(trackHtml(html, tracking, sharedLinks)) }
  } catch (error) {
    const [message = ''] = error instanceof Error ? error.message.split('\n') : []
    const field = templateFields[currentField[0] ?? 0] ?? 'html'
    const isSlow = message.startsWith(renderLimitExceeded)
    return { fault: { field, message, isSlow, ...(error instanceof EmptyPartError && { isEmpty: true }) } }
  }
}

/** A cache, because groups of several campaigns may alternate. The most recently compiled templates come first. */
const compiledTemplates: { sources: TemplateSources; render: ReturnType<typeof compileTemplates> }[] = []
const maxCompiledTemplates = 4
/** If the thread uses more heap, the cache is cleared, so that one campaign does not take the memory of another. */
const maxCachedHeapBytes = 64 * 1_048_576

function getCompiledTemplates(sources: TemplateSources) {
  const cached = compiledTemplates.find((entry) =>
    templateFields.every((field) => entry.sources[field] === sources[field]),
  )
  if (cached) return cached.render
  const render = compileTemplates(sources, setCurrentField)
  compiledTemplates.unshift({ sources, render })
  compiledTemplates.length = Math.min(compiledTemplates.length, maxCompiledTemplates)
  return render
}

function runTask(task: Task): ThreadResponse {
  if (task.kind === 'check') return { faults: findFaults(task.sources, task.names, setCurrentField) }
  if (task.kind === 'mail') return renderMails(task)
  const rendered = render(task.sources, task.recipient)
  if ('fault' in rendered) return rendered
  const mail = joinMail(rendered)
  if (task.withoutEmptyLinks && mail.html !== undefined) mail.html = removeEmptyLinks(mail.html)
  return { mail }
}

if (!isMainThread) {
  parentPort?.on('message', (task: Task) => {
    const response = runTask(task)
    parentPort?.postMessage(response, response.bytes ? [response.bytes] : [])
    if (getHeapStatistics().used_heap_size > maxCachedHeapBytes) compiledTemplates.length = 0
  })
  parentPort?.postMessage('ready')
}
