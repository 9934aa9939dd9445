/** The thread that parses and renders templates for rendering.ts. One message in, one out; it imports as little as it can. */
import { getHeapStatistics } from 'node:v8'
import { isMainThread, parentPort, workerData } from 'node:worker_threads'
import { encodePart, joinPieces, onePiece, type Parts } from '../../mail/mime.ts'
import { renderLimitExceeded } from './liquid.ts'
import {
  type PartialTemplateSources,
  type TemplateFault,
  type TemplateField,
  templateFields,
  type TemplateSources,
  type TemplateValues,
} from './template-sources.ts'
import { compileTemplates, findFault, joinMail, type MailInPieces } from './templates.ts'
import { trackHtml, type Tracking } from './track-html.ts'

/** Templates as they are saved, to be parsed. */
export interface CheckTask {
  kind: 'check'
  sources: PartialTemplateSources
}

interface TemplateRecipient {
  values: TemplateValues
  tracking: Tracking | undefined
}

/** A group of recipients, to be rendered for as it goes over the wire. */
export interface RenderMailsTask {
  kind: 'mail'
  sources: TemplateSources
  recipients: TemplateRecipient[]
}

/** One recipient, to be rendered for as text that somebody looks at. */
export interface RenderPreviewTask {
  kind: 'preview'
  sources: TemplateSources
  recipient: TemplateRecipient
}

export type Task = CheckTask | RenderMailsTask | RenderPreviewTask

export type PlainMail = { subject: string } & Parts<string>
/** Each part is from one byte of the answer's to another. */
export interface EncodedRanges {
  subject: string
  parts: [number, number][]
}

export interface FaultyMail {
  fault: TemplateFault
}

export interface ThreadResponse {
  fault?: TemplateFault | undefined
  mail?: PlainMail
  /** Of the first recipients, one at least: the others are to be asked for again. */
  mails?: (EncodedRanges | PlainMail | FaultyMail)[]
  bytes?: ArrayBuffer
}

/** Shared with whoever ends the thread: which template it was at, by its place in `templateFields`. */
const currentField = workerData as Int32Array
const setCurrentField = (field: TemplateField) => void (currentField[0] = templateFields.indexOf(field))

/** More than so much is not held at a time. */
const maxResponseBytes = 4_000_000

/** The bytes of all are one buffer, which changes hands: they are not copied from thread to thread. */
function renderMails({ sources, recipients }: RenderMailsTask): ThreadResponse {
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
  for (const recipient of recipients) {
    const rendered = render(sources, recipient)
    if ('fault' in rendered) mails.push(rendered)
    else if (rendered.html) {
      const parts = [encodePart('plain', rendered.text), encodePart('html', rendered.html)]
      mails.push({ subject: rendered.subject, parts: parts.map(addPart) })
    } else {
      // nodemailer takes encoded parts in a multipart only.
      const mail = joinMail(rendered)
      characters += mail.text.length
      mails.push(mail)
    }
    if (size + characters > maxResponseBytes) break
  }
  const bytes = new Uint8Array(size)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  return { mails, bytes: bytes.buffer }
}

function render(sources: TemplateSources, { values, tracking }: TemplateRecipient): MailInPieces | FaultyMail {
  try {
    const rendered = getCompiledTemplates(sources)(values)
    if (!tracking || !rendered.html) return rendered
    return { ...rendered, html: onePiece(trackHtml(joinPieces(rendered.html), tracking)) }
  } catch (error) {
    const [message = ''] = error instanceof Error ? error.message.split('\n') : []
    const field = templateFields[currentField[0] ?? 0] ?? 'html'
    return { fault: { field, message, isSlow: message.startsWith(renderLimitExceeded) } }
  }
}

/** The latest ones: of the campaigns that are sent at a time, whose groups come in turns. */
const compiledTemplates: { sources: TemplateSources; render: ReturnType<typeof compileTemplates> }[] = []
const maxCompiledTemplates = 4
/** With more in use they are forgotten, so that what one campaign keeps is no other's lack of memory. */
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
  if (task.kind === 'check') return { fault: findFault(task.sources, setCurrentField) }
  if (task.kind === 'mail') return renderMails(task)
  const rendered = render(task.sources, task.recipient)
  return 'fault' in rendered ? rendered : { mail: joinMail(rendered) }
}

if (!isMainThread) {
  parentPort?.on('message', (task: Task) => {
    const response = runTask(task)
    parentPort?.postMessage(response, response.bytes ? [response.bytes] : [])
    if (getHeapStatistics().used_heap_size > maxCachedHeapBytes) compiledTemplates.length = 0
  })
  parentPort?.postMessage('ready')
}
