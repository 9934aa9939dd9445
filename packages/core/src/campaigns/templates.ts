import { Liquid, type Template } from 'liquidjs'
import { invalidField } from '../errors.ts'
import { fillMarks, markValues, type Marks, textsOfShapes } from './text-parts.ts'

// No files: `templates` replaces the disk. Limits: a template is a customer's program, and must not hold up the others.
const limits = {
  templates: {},
  ownPropertyOnly: true,
  parseLimit: 4_000_000,
  renderLimit: 250,
  memoryLimit: 5_000_000,
} as const
const htmlEngine = withoutFiles(new Liquid({ ...limits, outputEscape: 'escape' }))
const textEngine = withoutFiles(new Liquid(limits))

const htmlFooter = `
<div style="margin-top:32px;padding-top:16px;border-top:1px solid #d9d9e0;font:13px/1.5 system-ui,sans-serif;color:#60646c">
You receive this because you subscribed to {{ list.name }}. <a href="{{ unsubscribeUrl }}" style="color:inherit">Unsubscribe</a>
{%- if workspace.postalAddress %}<br>{{ workspace.postalAddress }}{% endif %}
</div>`
const textFooter = `

--
You receive this because you subscribed to {{ list.name }}.
Unsubscribe: {{ unsubscribeUrl }}{% if workspace.postalAddress %}
{{ workspace.postalAddress }}{% endif %}`

/** What a campaign starts from that was given neither HTML nor text. */
export const plainTemplate = `<h1>{{ campaign.subject }}</h1>
<p>Hello {{ contact.firstName | default: "there" }},</p>
<p>here is the latest from {{ workspace.name }}.</p>
`

export interface TemplateSources {
  subject: string
  html: string | null
  text: string | null
}

export interface TemplateValues {
  contact: Record<string, unknown>
  campaign: Record<string, unknown>
  list: Record<string, unknown>
  workspace: Record<string, unknown>
  unsubscribeUrl: string
}

/** Checks templates as they are saved. A broken one is invalid, with line and column. */
export function checkTemplates(sources: { [Part in keyof TemplateSources]?: string | null | undefined }): void {
  parseField(textEngine, 'subject', sources.subject)
  parseField(htmlEngine, 'html', sources.html)
  parseField(textEngine, 'text', sources.text)
}

/**
 * Parses a campaign's templates once, for many recipients. The renderer escapes values in HTML, adds the unsubscribe
 * footer where a part has no `unsubscribeUrl`, and makes the text part of the HTML where none was written. It throws
 * when a template exceeds its limits.
 */
export function compileTemplates(sources: TemplateSources) {
  const subject = textEngine.parse(sources.subject)
  const text = sources.text === null ? undefined : compileText(sources.text)
  const html = sources.html === null ? undefined : compileHtml(sources.html, { withText: !text })
  return (given: TemplateValues): { subject: string; html?: string; text: string } => {
    const renderedSubject = render(textEngine, subject, given)
    // The body's `campaign.subject` is what the recipient reads in the header.
    const values = { ...given, campaign: { ...given.campaign, subject: renderedSubject } }
    return { subject: renderedSubject, text: '', ...html?.(values), ...text?.(values) }
  }
}

function compileText(source: string) {
  const body = textEngine.parse(source)
  const footer = textEngine.parse(footerFor(source, textFooter))
  return (values: TemplateValues) => ({
    text: render(textEngine, body, values) + render(textEngine, footer, values),
  })
}

/** With the text that the HTML says, where no other was written. */
function compileHtml(source: string, { withText }: { withText: boolean }) {
  const marks: Marks = []
  // What a template captures it may cut to pieces, and a mark with it.
  const isMarked = withText && !source.includes('capture')
  const engine = isMarked ? withoutFiles(new Liquid({ ...limits, outputEscape: markValues(marks) })) : htmlEngine
  const body = engine.parse(source)
  const footer = engine.parse(footerFor(source, htmlFooter))
  const textOf = textsOfShapes()
  return (values: TemplateValues): { html: string; text?: string } => {
    marks.length = 0
    // Added to what was rendered, not to the template: there it could fall into a comment, or break a tag.
    const shape = insertAtEnd(render(engine, body, values), render(engine, footer, values))
    const html = fillMarks(shape, marks, 'html')
    return withText ? { html, text: fillMarks(textOf(shape), marks, 'text') } : { html }
  }
}

function render(engine: Liquid, template: Template[], values: TemplateValues): string {
  return String(engine.renderSync(template, values))
}

const footerFor = (source: string, footer: string) => (source.includes('unsubscribeUrl') ? '' : footer)

/** Puts something at the end of what is shown: before the last `</body>`, if there is one. */
export function insertAtEnd(html: string, added: string): string {
  const end = [...html.matchAll(/<\/body/gi)].at(-1)?.index ?? html.length
  return html.slice(0, end) + added + html.slice(end)
}

/** Without the tags that ask for other templates: there are none, so they are refused as a template is saved. */
function withoutFiles(engine: Liquid): Liquid {
  for (const tag of ['include', 'render', 'layout', 'block']) delete engine.tags[tag]
  return engine
}

function parseField(engine: Liquid, path: string, source: string | null | undefined) {
  if (!source) return
  try {
    engine.parse(source)
  } catch (error) {
    const [what = 'cannot be read'] = error instanceof Error ? error.message.split('\n') : []
    const at = /^(.*), line:(\d+), col:(\d+)$/.exec(what)
    throw invalidField(path, `${path}: ${at ? `${at[1]} (line ${at[2]}, column ${at[3]})` : what}`)
  }
}
