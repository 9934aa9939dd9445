/** The thread that parses and renders templates for rendering.ts. One message in, one out; it imports as little as it can. */
import { getHeapStatistics } from 'node:v8'
import { isMainThread, parentPort, workerData } from 'node:worker_threads'
import { encodePart, joinPieces, onePiece, type Parts } from '../../mail/mime.ts'
import { renderLimitExceeded } from './liquid.ts'
import {
  type GivenSources,
  type TemplateFault,
  type TemplateField,
  templateFields,
  type TemplateSources,
  type TemplateValues,
} from './template-sources.ts'
import { compileTemplates, findFault, joinLetter, type Letter } from './templates.ts'
import { trackHtml, type Tracking } from './track-html.ts'

/** Templates as they are saved, to be parsed. */
export interface Check {
  kind: 'check'
  sources: GivenSources
}

interface Addressee {
  values: TemplateValues
  tracking: Tracking | undefined
}

/** A group of recipients, to be rendered for as it goes over the wire. */
export interface Rendering {
  kind: 'mail'
  sources: TemplateSources
  recipients: Addressee[]
}

/** One recipient, to be rendered for as text that somebody looks at. */
export interface Copying {
  kind: 'copy'
  sources: TemplateSources
  recipient: Addressee
}

export type Task = Check | Rendering | Copying

export type Copy = { subject: string } & Parts<string>
/** Each part is from one byte of the answer's to another. */
export interface Encoded {
  subject: string
  parts: [number, number][]
}

export interface Faulty {
  fault: TemplateFault
}

export interface Answer {
  fault?: TemplateFault | undefined
  copy?: Copy
  /** Of the first recipients, one at least: the others are to be asked for again. */
  mails?: (Encoded | Copy | Faulty)[]
  bytes?: ArrayBuffer
}

/** Shared with whoever ends the thread: which template it was at, by its place in `templateFields`. */
const place = workerData as Int32Array
const noteField = (field: TemplateField) => void (place[0] = templateFields.indexOf(field))

/** More than so much is not held at a time. */
const mostBytes = 4_000_000

/** The bytes of all are one buffer, which changes hands: they are not copied from thread to thread. */
function renderMails({ sources, recipients }: Rendering): Answer {
  const mails: (Encoded | Copy | Faulty)[] = []
  const chunks: Buffer[] = []
  let size = 0
  let characters = 0
  const take = (part: Buffer[]): [number, number] => {
    const start = size
    chunks.push(...part)
    for (const chunk of part) size += chunk.length
    return [start, size]
  }
  for (const recipient of recipients) {
    const letter = render(sources, recipient)
    if ('fault' in letter) mails.push(letter)
    else if (letter.html) {
      const parts = [encodePart('plain', letter.text), encodePart('html', letter.html)]
      mails.push({ subject: letter.subject, parts: parts.map(take) })
    } else {
      // nodemailer takes encoded parts in a multipart only.
      const copy = joinLetter(letter)
      characters += copy.text.length
      mails.push(copy)
    }
    if (size + characters > mostBytes) break
  }
  const bytes = new Uint8Array(size)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  return { mails, bytes: bytes.buffer }
}

function render(sources: TemplateSources, { values, tracking }: Addressee): Letter | Faulty {
  try {
    const letter = compiled(sources)(values)
    if (!tracking || !letter.html) return letter
    return { ...letter, html: onePiece(trackHtml(joinPieces(letter.html), tracking)) }
  } catch (error) {
    const [message = ''] = error instanceof Error ? error.message.split('\n') : []
    const field = templateFields[place[0] ?? 0] ?? 'html'
    return { fault: { field, message, isSlow: message.startsWith(renderLimitExceeded) } }
  }
}

/** The latest ones: of the campaigns that are sent at a time, whose groups come in turns. */
const known: { sources: TemplateSources; render: ReturnType<typeof compileTemplates> }[] = []
const knownAtMost = 4
/** With more in use they are forgotten, so that what one campaign keeps is no other's lack of memory. */
const enoughBytes = 64 * 1_048_576

function compiled(sources: TemplateSources) {
  const found = known.find((one) => templateFields.every((field) => one.sources[field] === sources[field]))
  if (found) return found.render
  const render = compileTemplates(sources, noteField)
  known.unshift({ sources, render })
  known.length = Math.min(known.length, knownAtMost)
  return render
}

function answerTo(task: Task): Answer {
  if (task.kind === 'check') return { fault: findFault(task.sources, noteField) }
  if (task.kind === 'mail') return renderMails(task)
  const letter = render(task.sources, task.recipient)
  return 'fault' in letter ? letter : { copy: joinLetter(letter) }
}

if (!isMainThread) {
  parentPort?.on('message', (task: Task) => {
    const answer = answerTo(task)
    parentPort?.postMessage(answer, answer.bytes ? [answer.bytes] : [])
    if (getHeapStatistics().used_heap_size > enoughBytes) known.length = 0
  })
  parentPort?.postMessage('ready')
}
