/** The thread that parses and renders templates for rendering.ts. One message in, one out; it imports as little as it can. */
import { getHeapStatistics } from 'node:v8'
import { isMainThread, parentPort, workerData } from 'node:worker_threads'
import { renderLimitExceeded } from './liquid.ts'
import {
  type GivenSources,
  type TemplateFault,
  type TemplateField,
  templateFields,
  type TemplateSources,
  type TemplateValues,
} from './template-sources.ts'
import { compileTemplates, findFault } from './templates.ts'
import { trackHtml, type Tracking } from './track-html.ts'

/** Templates as they are saved, to be parsed. */
export interface Check {
  kind: 'check'
  sources: GivenSources
}

/** A group of recipients, to be rendered for. */
export interface Rendering {
  kind: 'render'
  sources: TemplateSources
  recipients: { values: TemplateValues; tracking: Tracking | undefined }[]
}

export interface MailParts {
  subject: string
  html?: string
  text: string
}
export type Rendered = MailParts | { fault: TemplateFault }

export interface Answer {
  fault?: TemplateFault | undefined
  /** Of the first recipients, one at least: the others are to be asked for again. */
  mails?: Rendered[]
}

/** Shared with whoever ends the thread: which template it was at, by its place in `templateFields`. */
const place = workerData as Int32Array
const noteField = (field: TemplateField) => void (place[0] = templateFields.indexOf(field))

/** More than so much is not held at a time. */
const enoughCharacters = 4_000_000

function renderGroup({ sources, recipients }: Rendering): Rendered[] {
  const mails: Rendered[] = []
  let characters = 0
  for (const recipient of recipients) {
    const mail = render(sources, recipient)
    mails.push(mail)
    if (!('fault' in mail)) characters += (mail.html?.length ?? 0) + mail.text.length
    if (characters > enoughCharacters) break
  }
  return mails
}

function render(sources: TemplateSources, { values, tracking }: Rendering['recipients'][number]): Rendered {
  try {
    const mail = compiled(sources)(values)
    return tracking && mail.html !== undefined ? { ...mail, html: trackHtml(mail.html, tracking) } : mail
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

if (!isMainThread) {
  parentPort?.on('message', (task: Check | Rendering) => {
    const answer: Answer =
      task.kind === 'check' ? { fault: findFault(task.sources, noteField) } : { mails: renderGroup(task) }
    parentPort?.postMessage(answer)
    if (getHeapStatistics().used_heap_size > enoughBytes) known.length = 0
  })
  parentPort?.postMessage('ready')
}
