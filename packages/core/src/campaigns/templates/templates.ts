/** Runs in the thread of rendering.ts alone, as nothing interrupts it: how a campaign's templates become a mail. */
import { joinPieces, onePiece, type Parts, type Pieces } from '../../mail/mime.ts'
import { createEngine, type Engine } from './liquid.ts'
import {
  type GivenSources,
  type TemplateFault,
  type TemplateField,
  templateFields,
  type TemplateSources,
  type TemplateValues,
} from './template-sources.ts'
import { cutShapes, fillMarks, markValues, type Marks } from './text-parts.ts'

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
type NoteField = (field: TemplateField) => void

/** What is wrong with templates that are to be saved, with line and column; undefined when all can be parsed. */
export function findFault(sources: GivenSources, noteField: NoteField = () => {}): TemplateFault | undefined {
  for (const field of templateFields) {
    noteField(field)
    const message = faultOf(field === 'html' ? htmlEngine : textEngine, sources[field])
    if (message !== undefined) return { field, message }
  }
  return undefined
}

function faultOf(engine: Engine, source: string | null | undefined): string | undefined {
  if (!source) return undefined
  try {
    engine.parse(source)
    return undefined
  } catch (error) {
    const [what = 'cannot be read'] = error instanceof Error ? error.message.split('\n') : []
    const at = /^(.*), line:(\d+), col:(\d+)$/.exec(what)
    return at ? `${at[1]} (line ${at[2]}, column ${at[3]})` : what
  }
}

/** A mail in pieces. */
export interface Letter extends Parts<Pieces> {
  subject: string
}

/** The same for whoever looks at it. */
export const joinLetter = ({ subject, html, text }: Letter) => ({
  subject,
  ...(html && { html: joinPieces(html) }),
  text: joinPieces(text),
})

/**
 * Parses a campaign's templates once, for many recipients. The renderer escapes values in HTML, adds the unsubscribe
 * footer where a part has no `unsubscribeUrl`, and makes the text part of the HTML where none was written. It throws
 * when a template exceeds its limits.
 */
export function compileTemplates(sources: TemplateSources, noteField: NoteField = () => {}) {
  noteField('subject')
  const subject = textEngine.parse(sources.subject)
  noteField('text')
  const text = sources.text === null ? undefined : compileText(sources.text)
  noteField('html')
  const html = sources.html === null ? undefined : compileHtml(sources.html, { withText: !text })
  return (given: TemplateValues): Letter => {
    noteField('subject')
    const renderedSubject = textEngine.render(subject, given)
    // The body's `campaign.subject` is what the recipient reads in the header.
    const values = { ...given, campaign: { ...given.campaign, subject: renderedSubject } }
    noteField('text')
    const textPart = text?.(values)
    noteField('html')
    return { subject: renderedSubject, text: onePiece(''), ...html?.(values), ...textPart }
  }
}

function compileText(source: string) {
  const body = textEngine.parse(source)
  const footer = textEngine.parse(footerFor(source, textFooter))
  return (values: TemplateValues) => ({
    text: onePiece(textEngine.render(body, values) + textEngine.render(footer, values)),
  })
}

/** With the text that the HTML says, where no other was written. */
function compileHtml(source: string, { withText }: { withText: boolean }) {
  const marks: Marks = []
  // What a template captures it may cut to pieces, and a mark with it.
  const isMarked = !source.includes('capture')
  const engine = isMarked ? createEngine(markValues(marks)) : htmlEngine
  const body = engine.parse(source)
  const footer = engine.parse(footerFor(source, htmlFooter))
  const shapeOf = cutShapes({ withText })
  return (values: TemplateValues): { html: Pieces; text?: Pieces } => {
    marks.length = 0
    // Added to what was rendered, not to the template: there it could fall into a comment, or break a tag.
    const shape = shapeOf(insertAtEnd(engine.render(body, values), engine.render(footer, values)))
    const html = fillMarks(shape.html, marks, 'html')
    return withText ? { html, text: fillMarks(shape.text, marks, 'text') } : { html }
  }
}

const footerFor = (source: string, footer: string) => (source.includes('unsubscribeUrl') ? '' : footer)

/** Puts something at the end of what is shown: before the last `</body>`, if there is one. */
export function insertAtEnd(html: string, added: string): string {
  const end = [...html.matchAll(/<\/body/gi)].at(-1)?.index ?? html.length
  return html.slice(0, end) + added + html.slice(end)
}
