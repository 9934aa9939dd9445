/** Runs in the thread of rendering.ts alone, as nothing interrupts it: how a campaign's templates become a mail. */
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

/** In the letter's own colours, light or dark: it stands in a page that is somebody else's. */
const htmlFooter = `
<div style="margin-top:32px;padding-top:16px;border-top:1px solid #80838d;font:13px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;color:inherit;overflow-wrap:anywhere">
You receive this because you subscribed to {{ list.name }}. <a href="{{ unsubscribeUrl }}" style="color:inherit">Unsubscribe</a>
{%- if workspace.postalAddress %}<br>{{ workspace.postalAddress }}{% endif %}
</div>`
const textFooter = `

--
You receive this because you subscribed to {{ list.name }}.
Unsubscribe: {{ unsubscribeUrl }}{% if workspace.postalAddress %}
{{ workspace.postalAddress }}{% endif %}`

/** Is told which of the templates is being worked on from here on. */
type SetCurrentField = (field: TemplateField) => void

/** What is wrong with templates that are to be saved, with line and column; undefined when all can be parsed. */
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

/** A mail in pieces. */
export interface MailInPieces extends Parts<Pieces> {
  subject: string
}

/** The same for whoever looks at it. */
export const joinMail = ({ subject, html, text }: MailInPieces) => ({
  subject,
  ...(html && { html: joinPieces(html) }),
  text: joinPieces(text),
})

/**
 * Parses a campaign's templates once, for many recipients. The renderer escapes values in HTML, adds the unsubscribe
 * footer where a part has no `unsubscribeUrl`, and makes the text part of the HTML where none was written. It throws
 * when a template exceeds its limits.
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
    // The body's `campaign.subject` is what the recipient reads in the header.
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

/** With the text that the HTML says, where no other was written. */
function compileHtml(source: string, { withText }: { withText: boolean }) {
  const placeholderValues: PlaceholderValues = []
  // What a template captures it may cut to pieces, and a mark with it.
  const canUsePlaceholders = !source.includes('capture')
  const engine = canUsePlaceholders ? createEngine(createPlaceholderEscape(placeholderValues)) : htmlEngine
  const body = engine.parse(source)
  const footer = engine.parse(getFooter(source, htmlFooter))
  const split = createSplitter({ withText })
  return (values: TemplateValues): { html: Pieces; text?: Pieces } => {
    placeholderValues.length = 0
    // Added to what was rendered, not to the template: there it could fall into a comment, or break a tag.
    const parts = split(insertAtEnd(engine.render(body, values), engine.render(footer, values)))
    const html = fillPlaceholders(parts.html, placeholderValues, 'html')
    return withText ? { html, text: fillPlaceholders(parts.text, placeholderValues, 'text') } : { html }
  }
}

const getFooter = (source: string, footer: string) => (source.includes('unsubscribeUrl') ? '' : footer)

/** Puts something at the end of what is shown: before the last `</body>`, if there is one. */
export function insertAtEnd(html: string, added: string): string {
  const end = [...html.matchAll(/<\/body/gi)].at(-1)?.index ?? html.length
  return html.slice(0, end) + added + html.slice(end)
}
