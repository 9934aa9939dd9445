/**
 * Liquid with limits on all that a template can make grow: it is a customer's program. They keep its values small
 * enough that none of them takes the memory of the process at one stroke, which no thread would survive.
 */
import { type FilterImplOptions, Liquid, type Template, toValue } from 'liquidjs'

/** A part of a mail has at most so many characters, and so has what it captures on the way. */
const maxPartLength = 1_572_864

/**
 * No files: `templates` replaces the disk. `memoryLimit` is of characters and items, over a whole rendering. A thread ends the
 * process with it when one object asks for more than 16 MiB beyond the thread's limit, which is how far Node lets it go while
 * it ends it. So no object may be as large. The largest that these limits leave are the array of a range of a million (12 MB
 * as it grows), the text of a million line breaks as `<br />` (14 MB), and the marks of a part that is nothing else (13 MB);
 * what is encoded is not on the heap.
 */
const limits = { templates: {}, ownPropertyOnly: true, parseLimit: 4_000_000, renderLimit: 250, memoryLimit: 1_000_000 }

/** How an error begins that says that a template took too long. */
export const renderLimitExceeded = 'template render limit exceeded'

export interface Engine {
  parse(source: string): Template[]
  render(template: Template[], values: object): string
}

/** An engine that reads no files. `outputEscape` is applied to every value. */
export function createEngine(outputEscape?: 'escape' | FilterImplOptions): Engine {
  const liquid = new Liquid({ ...limits, ...(outputEscape && { outputEscape: outputEscape as 'escape' }) })
  // The tags that ask for other templates: there are none, so they are refused as a template is saved.
  for (const tag of ['include', 'render', 'layout', 'block']) delete liquid.tags[tag]
  for (const [name, filter] of Object.entries(liquid.filters)) liquid.registerFilter(name, withLimits(filter))
  const { renderer } = liquid
  const renderTemplates = renderer.renderTemplates.bind(renderer)
  let limitOutput = createLengthLimiter()
  renderer.renderTemplates = (templates, context, emitter = createEmitter(limitOutput)) =>
    renderTemplates(templates, context, emitter)
  return {
    parse: (source) => liquid.parse(source),
    render(template, values) {
      limitOutput = createLengthLimiter()
      return String(liquid.renderSync(template, values))
    },
  }
}

/** Passes pieces of text on until they are together longer than a part of a mail may be. */
export function createLengthLimiter(maxLength = maxPartLength): (text: string) => string {
  let remaining = maxLength
  return (text) => {
    remaining -= text.length
    if (remaining < 0) throw new Error('length limit exceeded')
    return text
  }
}

/** Collects what is rendered, as the engine's own emitter does. */
function createEmitter(limitOutput: (text: string) => string) {
  return {
    buffer: '',
    write(value: unknown) {
      this.buffer += limitOutput(textOf(value))
    },
  }
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  const plain = toValue(value) as string | number | null | undefined | unknown[]
  return Array.isArray(plain) ? plain.map(textOf).join('') : String(plain ?? '')
}

/** The engine looks at its clock between tags, not within a chain of filters, and at the input of a filter alone. */
function withLimits(filter: FilterImplOptions): FilterImplOptions {
  const { handler, raw } = typeof filter === 'function' ? { handler: filter, raw: false } : filter
  return {
    raw,
    handler: function* (value: unknown, ...parameters: unknown[]) {
      this.context.renderLimit.check(performance.now())
      const result: unknown = yield handler.call(this, value, ...parameters)
      if (Array.isArray(result)) this.context.memoryLimit.use(sizeOf(result))
      return result
    },
  }
}

/** What an array holds is small, as it may hold one text many times, but it is not as text. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (!Array.isArray(value)) return 1
  let size = 1
  for (const item of value) {
    size += sizeOf(item)
    if (size > limits.memoryLimit) break
  }
  return size
}
