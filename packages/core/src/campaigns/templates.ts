import { convert } from 'html-to-text'
import { Liquid, type Template } from 'liquidjs'
import { invalidField } from '../errors.ts'

// No files: `templates` replaces the disk. Limits: a template is a customer's program, and must not hold up the others.
const limits = {
  templates: {},
  ownPropertyOnly: true,
  parseLimit: 4_000_000,
  renderLimit: 250,
  memoryLimit: 20_000_000,
} as const
const htmlEngine = new Liquid({ ...limits, outputEscape: 'escape' })
const textEngine = new Liquid(limits)

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
  const html = sources.html === null ? undefined : htmlEngine.parse(withHtmlFooter(sources.html))
  const text = sources.text === null ? undefined : textEngine.parse(withTextFooter(sources.text))
  return (given: TemplateValues): { subject: string; html?: string; text: string } => {
    const renderedSubject = render(textEngine, subject, given)
    // The body's `campaign.subject` is what the recipient reads in the header.
    const values = { ...given, campaign: { ...given.campaign, subject: renderedSubject } }
    const renderedHtml = html && render(htmlEngine, html, values)
    return {
      subject: renderedSubject,
      ...(renderedHtml !== undefined && { html: renderedHtml }),
      text: text ? render(textEngine, text, values) : toText(renderedHtml ?? ''),
    }
  }
}

function render(engine: Liquid, template: Template[], values: TemplateValues): string {
  return String(engine.renderSync(template, values))
}

function toText(html: string) {
  const headings = ['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({ selector, options: { uppercase: false } }))
  const links = { selector: 'a', options: { hideLinkHrefIfSameAsText: true } }
  return convert(html, { wordwrap: false, selectors: [...headings, links] })
}

function withHtmlFooter(html: string) {
  if (html.includes('unsubscribeUrl')) return html
  const end = html.toLowerCase().lastIndexOf('</body>')
  return end < 0 ? html + htmlFooter : html.slice(0, end) + htmlFooter + html.slice(end)
}

function withTextFooter(text: string) {
  return text.includes('unsubscribeUrl') ? text : text + textFooter
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
