/** Renders templates to a mail. Runs only in the rendering thread, which can be terminated. */
import { CommentTag, InlineCommentTag, type Template, TypeGuards } from 'liquidjs'
import { colons, english, findLanguage, type Language } from '../kernel/values/languages.ts'
import { joinPieces, onePiece, type Parts, type Pieces } from '../mail/mime.ts'
import { mailTexts } from '../mail/texts/mail-texts.ts'
import { createEngine, type Engine } from './engine/liquid.ts'
import {
  EmptyPartError,
  plainTemplate,
  type TemplateField,
  type TemplateSources,
  type TemplateValues,
} from './template-sources.ts'
import {
  createSplitter,
  fillPlaceholders,
  createPlaceholderEscape,
  type PlaceholderValues,
  placeholderOf,
  type SplitMail,
} from './text-parts.ts'

const htmlEngine = createEngine('escape')
const textEngine = createEngine()

/** Inherits the text color of the customer's HTML, which may be light or dark. */
const footerStyle = `margin-top:32px;padding-top:16px;border-top:1px solid #80838d;font:13px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;color:inherit;overflow-wrap:anywhere`
const htmlFooter = htmlEngine.parse(`
{{ reason }} <a href="{{ unsubscribeUrl }}" style="color:inherit">{{ unsubscribe }}</a> · <a href="{{ preferencesUrl }}" style="color:inherit">{{ preferences }}</a>
{%- if workspace.postalAddress %}<br>{{ workspace.postalAddress }}{% endif %}
`)
const textFooter = textEngine.parse(`

--
{{ reason }}
{{ unsubscribe }}{{ colon }} {{ unsubscribeUrl }}
{{ preferences }}{{ colon }} {{ preferencesUrl }}{% if workspace.postalAddress %}
{{ workspace.postalAddress }}{% endif %}`)

const htmlEmailFooter = htmlEngine.parse(`
{{ reason }}{%- if workspace.postalAddress %}<br>{{ workspace.postalAddress }}{% endif %}
`)
const textEmailFooter = textEngine.parse(`

--
{{ reason }}{% if workspace.postalAddress %}
{{ workspace.postalAddress }}{% endif %}`)

/** The footer is in the language of the recipient. */
function renderFooter(values: TemplateValues): { html: string; text: string; language: Language } {
  const { language } = findLanguage([values.locale]) ?? english
  const { footer, emailFooter } = mailTexts[language]
  const { workspace } = values
  if (!('unsubscribeUrl' in values)) {
    const { ground, sender } = values.footer
    const shown = { reason: emailFooter[ground](sender), workspace }
    return {
      html: htmlEngine.render(htmlEmailFooter, shown),
      text: textEngine.render(textEmailFooter, shown),
      language,
    }
  }
  const { list, unsubscribeUrl, preferencesUrl } = values
  const { reason, ...labels } = footer
  const shown = {
    reason: reason(list.name),
    ...labels,
    colon: colons[language],
    workspace,
    unsubscribeUrl,
    preferencesUrl,
  }
  return { html: htmlEngine.render(htmlFooter, shown), text: textEngine.render(textFooter, shown), language }
}

/**
 * The link that a part must show, or else gets a footer with it. An email to one person always gets its footer, and a web
 * version (null) none.
 */
const requiredLinkOf = (values: TemplateValues) => ('unsubscribeUrl' in values ? values.unsubscribeUrl : undefined)

type SetCurrentField = (field: TemplateField) => void

export interface MailInPieces extends Parts<Pieces> {
  subject: string
}

export const joinMail = ({ subject, html, text }: MailInPieces) => ({
  subject,
  ...(html && { html: joinPieces(html) }),
  text: joinPieces(text),
})

/**
 * Parses a campaign's templates once, for many recipients. The returned function renders a mail:
 * - Values are escaped in HTML.
 * - A template that is empty, or has only comments, is ignored. Without `html` and `text`, the mail has the plain
 *   template. Without `text`, the HTML is converted to text.
 * - A part that does not show the recipient's `unsubscribeUrl` gets the footer.
 * - It throws if the subject or a part is empty, because an empty mail is a mistake of the template, and if a template
 *   exceeds its limits.
 */
export function compileTemplates(sources: TemplateSources, setCurrentField: SetCurrentField = () => {}) {
  setCurrentField('subject')
  const subject = textEngine.parse(sources.subject)
  setCurrentField('text')
  const text = compileText(sources.text ?? '')
  setCurrentField('html')
  const html = compileHtml(sources.html ?? '') ?? (text ? undefined : compileHtml(plainTemplate))
  return (input: TemplateValues): MailInPieces => {
    setCurrentField('subject')
    const renderedSubject = textEngine.render(subject, input)
    if (isBlank(renderedSubject)) throw new EmptyPartError('subject')
    // In the body, `campaign.subject` is the rendered subject.
    const values = 'campaign' in input ? { ...input, campaign: { ...input.campaign, subject: renderedSubject } } : input
    setCurrentField('text')
    const textPart = text?.(values)
    setCurrentField('html')
    return { subject: renderedSubject, text: onePiece(''), ...html?.(values), ...textPart }
  }
}

function compileText(source: string): ((values: TemplateValues) => { text: Pieces }) | undefined {
  const body = parseContent(textEngine, source)
  if (!body) return undefined
  return (values) => {
    const rendered = textEngine.render(body, values)
    if (isBlank(rendered)) throw new EmptyPartError('text part')
    const link = requiredLinkOf(values)
    const hasLink = link === null || (link !== undefined && rendered.includes(link))
    return { text: onePiece(hasLink ? rendered : rendered + renderFooter(values).text) }
  }
}

/** The rendered parts: the HTML, and the HTML converted to text. */
interface HtmlParts {
  html: Pieces
  text: Pieces
}

function compileHtml(source: string): ((values: TemplateValues) => HtmlParts) | undefined {
  const placeholderValues: PlaceholderValues = []
  // A template can slice captured text, and the slice could cut a placeholder in two.
  const canUsePlaceholders = !source.includes('capture')
  const engine = canUsePlaceholders ? createEngine(createPlaceholderEscape(placeholderValues)) : htmlEngine
  const body = parseContent(engine, source, withoutComments)
  if (!body) return undefined
  const split = createSplitter()
  return (values) => {
    placeholderValues.length = 0
    const rendered = engine.render(body, values)
    const link = requiredLinkOf(values)
    const parts = link === null || (link !== undefined && hasLink(rendered, link)) ? split(rendered) : undefined
    const isComplete = parts && (link === null || (link !== undefined && showsLink(parts, link)))
    const withLink = isComplete ? parts : addFooter(rendered, values)
    return {
      html: fillPlaceholders(withLink.html, placeholderValues, 'html'),
      text: fillPlaceholders(withLink.text, placeholderValues, 'text'),
    }
  }

  /** A quick check, before the HTML is converted to text. */
  function hasLink(rendered: string, url: string): boolean {
    return rendered.includes(url) || placeholderValues.some(({ text }) => text.includes(url))
  }

  /** Whether the link is in the text of the HTML, so that it is not inside a comment, for example. */
  function showsLink({ text }: SplitMail, url: string): boolean {
    return (
      text.fixed.some((piece) => piece.includes(url)) ||
      text.valueIndexes.some((index) => placeholderValues[index]?.text.includes(url))
    )
  }

  /**
   * Adds the footer as the value of a placeholder. It is inserted into the rendered HTML: in the template, the position
   * could be inside a tag. If the end of the HTML is not shown, for example after `<!--`, the footer is at the start.
   */
  function addFooter(rendered: string, values: TemplateValues): SplitMail {
    const index = placeholderValues.length
    const { html, text, language } = renderFooter(values)
    placeholderValues.push({ html, text })
    const footer = `\n<div lang="${language}" style="${footerStyle}">${placeholderOf(index)}</div>`
    for (const insert of [insertAtEnd, insertAtStart]) {
      const parts = split(insert(rendered, footer))
      if (!parts.text.valueIndexes.includes(index)) continue
      if (isEmptyWithout(index, parts) && !media.test(rendered)) throw new EmptyPartError('HTML part')
      return parts
    }
    throw new Error('the HTML has no place where the footer is shown')
  }

  function isEmptyWithout(footerIndex: number, { text }: SplitMail): boolean {
    const values = text.valueIndexes.filter((index) => index !== footerIndex)
    return [...text.fixed, ...values.map((index) => placeholderValues[index]?.text ?? '')].every(isBlank)
  }
}

/** What HTML can show without text. */
const media = /<(?:audio|embed|iframe|img|object|svg|video)\b|\bbackground|url\(/i

/**
 * Parses a template. Returns undefined if it is empty or has only comments. `toContent` removes the comments of HTML.
 */
function parseContent(
  engine: Engine,
  source: string,
  toContent: (text: string) => string = (text) => text,
): Template[] | undefined {
  const templates = engine.parse(source)
  const content = templates.filter(
    (template) => !(template instanceof CommentTag || template instanceof InlineCommentTag),
  )
  const isText = content.every(({ token }) => TypeGuards.isHTMLToken(token))
  const isEmpty = isText && isBlank(toContent(content.map(({ token }) => token.getText()).join('')))
  return isEmpty ? undefined : templates
}

/** Removes HTML comments. An unclosed comment ends with the text. */
function withoutComments(html: string): string {
  let kept = ''
  for (let at = 0; at < html.length; ) {
    const start = html.indexOf('<!--', at)
    if (start < 0) return kept + html.slice(at)
    kept += html.slice(at, start)
    const end = html.indexOf('-->', start)
    at = end < 0 ? html.length : end + 3
  }
  return kept
}

/** Whether a text has only spaces, and control and format characters such as a soft hyphen. */
const isBlank = (text: string) => !/[^\s\p{Cc}\p{Cf}]/u.test(text)

/** Inserts HTML before the last `</body>`, or appends it if there is none. */
export function insertAtEnd(html: string, added: string): string {
  const end = [...html.matchAll(/<\/body/gi)].at(-1)?.index ?? html.length
  return html.slice(0, end) + added + html.slice(end)
}

/** Inserts HTML after the first `<body>`, or before everything if there is none. */
function insertAtStart(html: string, added: string): string {
  const body = /<body\b[^>]*>/i.exec(html)
  const start = body ? body.index + body[0].length : 0
  return html.slice(0, start) + added + html.slice(start)
}
