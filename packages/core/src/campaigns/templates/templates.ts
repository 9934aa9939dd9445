/** Renders a campaign's templates to a mail. Runs only in the rendering thread, which can be terminated. */
import { joinPieces, onePiece, type Parts, type Pieces } from '../../mail/mime.ts'
import { createEngine, type Engine } from './liquid.ts'
import {
  type PartialTemplateSources,
  type TemplateFault,
  type TemplateField,
  templateFields,
  type TemplateSources,
  type TemplateValues,
} from './template-sources.ts'
import { createSplitter, fillPlaceholders, createPlaceholderEscape, type PlaceholderValues } from './text-parts.ts'

const htmlEngine = createEngine('escape')
const textEngine = createEngine()

/** Inherits the text color of the customer's HTML, which may be light or dark. */
const htmlFooter = `
<div style="margin-top:32px;padding-top:16px;border-top:1px solid #80838d;font:13px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;color:inherit;overflow-wrap:anywhere">
You are receiving this email because you subscribed to {{ list.name }}. <a href="{{ unsubscribeUrl }}" style="color:inherit">Unsubscribe</a>
{%- if workspace.postalAddress %}<br>{{ workspace.postalAddress }}{% endif %}
</div>`
const textFooter = `

--
You are receiving this email because you subscribed to {{ list.name }}.
Unsubscribe: {{ unsubscribeUrl }}{% if workspace.postalAddress %}
{{ workspace.postalAddress }}{% endif %}`

type SetCurrentField = (field: TemplateField) => void

/** Parses all templates. Returns the first error, with line and column. */
export function findFault(
  sources: PartialTemplateSources,
  setCurrentField: SetCurrentField = () => {},
): TemplateFault | undefined {
  for (const field of templateFields) {
    setCurrentField(field)
    const message = findParseError(field === 'html' ? htmlEngine : textEngine, sources[field])
    if (message !== undefined) return { field, message }
  }
  return undefined
}

function findParseError(engine: Engine, source: string | null | undefined): string | undefined {
  if (!source) return undefined
  try {
    engine.parse(source)
    return undefined
  } catch (error) {
    const [message = 'cannot be parsed'] = error instanceof Error ? error.message.split('\n') : []
    const at = /^(.*), line:(\d+), col:(\d+)$/.exec(message)
    return at ? `${at[1]} (line ${at[2]}, column ${at[3]})` : message
  }
}

export interface MailInPieces extends Parts<Pieces> {
  subject: string
}

export const joinMail = ({ subject, html, text }: MailInPieces) => ({
  subject,
  ...(html && { html: joinPieces(html) }),
  text: joinPieces(text),
})

/**
 * Parses a campaign's templates once, for many recipients. The returned function renders a mail: it escapes values in
 * HTML, adds the unsubscribe footer to each part without `unsubscribeUrl`, and converts the HTML to text if there is no
 * text template. It throws if a template exceeds its limits.
 */
export function compileTemplates(sources: TemplateSources, setCurrentField: SetCurrentField = () => {}) {
  setCurrentField('subject')
  const subject = textEngine.parse(sources.subject)
  setCurrentField('text')
  const text = sources.text === null ? undefined : compileText(sources.text)
  setCurrentField('html')
  const html = sources.html === null ? undefined : compileHtml(sources.html, { withText: !text })
  return (input: TemplateValues): MailInPieces => {
    setCurrentField('subject')
    const renderedSubject = textEngine.render(subject, input)
    // In the body, `campaign.subject` is the rendered subject.
    const values = { ...input, campaign: { ...input.campaign, subject: renderedSubject } }
    setCurrentField('text')
    const textPart = text?.(values)
    setCurrentField('html')
    return { subject: renderedSubject, text: onePiece(''), ...html?.(values), ...textPart }
  }
}

function compileText(source: string) {
  const body = textEngine.parse(source)
  const footer = textEngine.parse(getFooter(source, textFooter))
  return (values: TemplateValues) => ({
    text: onePiece(textEngine.render(body, values) + textEngine.render(footer, values)),
  })
}

/** `withText`: also converts the HTML to a text part. */
function compileHtml(source: string, { withText }: { withText: boolean }) {
  const placeholderValues: PlaceholderValues = []
  // A template can slice captured text, and the slice could cut a placeholder in two.
  const canUsePlaceholders = !source.includes('capture')
  const engine = canUsePlaceholders ? createEngine(createPlaceholderEscape(placeholderValues)) : htmlEngine
  const body = engine.parse(source)
  const footer = engine.parse(getFooter(source, htmlFooter))
  const split = createSplitter({ withText })
  return (values: TemplateValues): { html: Pieces; text?: Pieces } => {
    placeholderValues.length = 0
    // Inserted into the rendered HTML: in the template, the position could be inside a comment or a tag.
    const parts = split(insertAtEnd(engine.render(body, values), engine.render(footer, values)))
    const html = fillPlaceholders(parts.html, placeholderValues, 'html')
    return withText ? { html, text: fillPlaceholders(parts.text, placeholderValues, 'text') } : { html }
  }
}

const getFooter = (source: string, footer: string) => (source.includes('unsubscribeUrl') ? '' : footer)

/** Inserts HTML before the last `</body>`, or appends it if there is none. */
export function insertAtEnd(html: string, added: string): string {
  const end = [...html.matchAll(/<\/body/gi)].at(-1)?.index ?? html.length
  return html.slice(0, end) + added + html.slice(end)
}
