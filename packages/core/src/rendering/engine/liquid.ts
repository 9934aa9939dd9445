/**
 * Liquid with limits on the time and the memory that a template can use, because customers write the templates. The
 * limits keep each value small: one very large allocation would end the process, not only the rendering thread.
 */
import { type Context, type FilterImplOptions, Liquid, type Template, toValue } from 'liquidjs'
import { TemplateContext, useFiltersOfText } from './characters.ts'
import { useDateStyles } from './date-styles.ts'

/** The maximum number of characters of a part of a mail, and of everything that a template captures. */
const maxPartLength = 1_572_864

/**
 * `templates: {}` disables access to files. Dates are UTC, and the names of `%A` and `%B` English, in any time zone and
 * language of the server. `memoryLimit` counts characters and items over a whole rendering.
 *
 * Node ends a thread that exceeds its heap limit, and lets the heap grow by another 16 MiB while it does so. An object
 * that needs more than that ends the whole process, so no object may be that large. The largest objects within these
 * limits are the array of a range of a million items (12 MB while it grows), the text of a million line breaks as `<br
 * />` (14 MB), and a part that consists of placeholders only (13 MB). Encoded parts are not on the heap.
 */
const limits = {
  templates: {},
  ownPropertyOnly: true,
  parseLimit: 4_000_000,
  memoryLimit: 1_000_000,
  timezoneOffset: 0,
  locale: 'en',
}

/** Below the deadline of a group: one slow recipient must not end the thread, which would fail all of them. */
const maxRenderMs = 250

/** The beginning of the error message for a template that takes too long. */
export const renderLimitExceeded = 'template render limit exceeded'

export interface Engine {
  filterNames: ReadonlySet<string>
  parse(source: string): Template[]
  render(template: Template[], values: object): string
}

/** Creates an engine that reads no files. `outputEscape` is applied to every value. */
export function createEngine(outputEscape?: 'escape' | FilterImplOptions): Engine {
  const liquid = new Liquid({ ...limits, ...(outputEscape && { outputEscape: outputEscape as 'escape' }) })
  // There are no other templates to load. Without these tags, the parser rejects a template that uses them.
  for (const tag of ['include', 'render', 'layout', 'block']) delete liquid.tags[tag]
  useFiltersOfText(liquid)
  useDateStyles(liquid)
  for (const [name, filter] of Object.entries(liquid.filters)) liquid.registerFilter(name, withLimits(filter))
  const { renderer } = liquid
  const renderTemplates = renderer.renderTemplates.bind(renderer)
  let limitOutput = createLengthLimiter()
  renderer.renderTemplates = (templates, context, emitter = createEmitter(limitOutput)) =>
    renderTemplates(templates, context, emitter)
  return {
    filterNames: new Set(Object.keys(liquid.filters)),
    parse: (source) => liquid.parse(source),
    render(template, values) {
      limitOutput = createLengthLimiter()
      const renderLimit = createTimeLimiter()
      const context = new TemplateContext(values, liquid.options, { sync: true }, { liquid, renderLimit })
      return String(liquid.renderSync(template, context))
    },
  }
}

/**
 * Limits the processor time of a rendering, because time also passes while the process is starved of it. That of other
 * threads is included, so it counts only once as much time has passed.
 */
function createTimeLimiter(): Context['renderLimit'] {
  const startedAt = performance.now()
  const start = process.cpuUsage()
  const limiter = {
    check(now: number) {
      if (now - startedAt < maxRenderMs) return
      const { user, system } = process.cpuUsage(start)
      if (user + system > maxRenderMs * 1_000) throw new Error(renderLimitExceeded)
    },
  }
  return limiter as Context['renderLimit']
}

/** Creates a function that returns its text, and throws as soon as all texts together exceed the maximum length. */
export function createLengthLimiter(maxLength = maxPartLength): (text: string) => string {
  let remaining = maxLength
  return (text) => {
    remaining -= text.length
    if (remaining < 0) throw new Error('length limit exceeded')
    return text
  }
}

/** Like the engine's own emitter, but with a length limit, and for valid Unicode: `{{ "\ud83e" }}` is half an emoji. */
function createEmitter(limitOutput: (text: string) => string) {
  return {
    buffer: '',
    write(value: unknown) {
      this.buffer += limitOutput(textOf(value)).toWellFormed()
    },
  }
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  const plain = toValue(value) as string | number | null | undefined | unknown[]
  return Array.isArray(plain) ? plain.map(textOf).join('') : String(plain ?? '')
}

/** Adds two checks that the engine lacks: the time between chained filters, and the size of a filter's result. */
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

/** Counts the characters of an array as text. In memory, the array can be smaller: it may repeat one string. */
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
