import type { Branding } from '@rapport/core/workspaces/branding.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type ShowErrorPage, toErrorBody } from '../http/error-handler.ts'
import { acceptsHtml, engine, sendDocument } from './document.ts'
import { type PageLanguage, readPageLanguage } from './page-language.ts'
import type { PageTexts } from './texts/en.ts'

const template = engine.parse(`<p>{{ text }}</p>
{%- if note %}
<p>{{ note }}</p>
{%- endif %}
{%- if button %}
<form method="post"{% if action %} action="{{ action }}"{% endif %}>
{%- if boxes %}
<fieldset>
<legend>{{ boxes.title }}</legend>
<p id="boxes">{{ boxes.text }}</p>
{%- for box in boxes.rows %}
<div class="tick">
<input type="checkbox" id="{{ box.name }}" name="{{ box.name }}" value="allow" aria-describedby="boxes">
<label for="{{ box.name }}">{{ box.label }}</label>
</div>
{%- endfor %}
</fieldset>
{% endif -%}
<button{% if isSecondary %} class="secondary"{% endif %}>{{ button }}</button></form>
{%- endif %}
{%- if link %}
<p><a href="{{ link.url }}">{{ link.label }}</a></p>
{%- endif %}`)

export interface Message {
  language: PageLanguage
  title: string
  text: string
  /** A second paragraph. */
  note?: string | undefined
  button?: string
  /** What the button grants beside the text, only where it is ticked. */
  boxes?: { title: string; text: string; rows: { name: string; label: string }[] } | undefined
  /** Where the button posts to. Default: the URL of the page. */
  action?: string
  /** Whether the button is less prominent, because most visitors do not need it. */
  isSecondary?: boolean
  link?: { url: string; label: string }
  /** Where the page redirects to. It also has a link, for browsers that ignore the `refresh` header. */
  redirectUrl?: string
  branding?: Branding | undefined
  frameAncestors?: '*'
}

/** The page for a visitor of a workspace that the operator has suspended. */
export const suspendedMessage = (language: PageLanguage): Message => ({ language, ...language.texts.suspended })

/** Sends a page with a message, and optionally a button and a link. Values are escaped. */
export function sendMessage(reply: FastifyReply, message: Message): FastifyReply {
  const { language, title, text, note, button, boxes, action, isSecondary, redirectUrl, branding, frameAncestors } =
    message
  if (redirectUrl !== undefined) reply.header('refresh', `0; url=${redirectUrl}`)
  const link = redirectUrl === undefined ? message.link : { url: redirectUrl, label: language.texts.continue }
  const content = String(engine.renderSync(template, { text, note, button, boxes, action, isSecondary, link }))
  return sendDocument(reply, { language, heading: title, content, branding, ...(frameAncestors && { frameAncestors }) })
}

/**
 * Makes a plugin answer a browser with a message if the link in an email is broken or the workspace is suspended.
 * `describe` says what the visitor can do about the link.
 */
export function showBrokenLinks(
  app: FastifyInstance,
  describe: (texts: PageTexts, request: FastifyRequest) => string,
): void {
  app.setErrorHandler((error, request, reply: FastifyReply) => {
    const body = acceptsHtml(request) ? toErrorBody(error) : undefined
    const language = readPageLanguage(request)
    if (body?.code === 'workspace_suspended') return sendMessage(reply.code(403), suspendedMessage(language))
    // At the host of another workspace, the link is a 404.
    if (body?.statusCode !== 400 && body?.code !== 'not_found') throw error
    const { texts } = language
    return sendMessage(reply.code(body.statusCode), {
      language,
      title: texts.brokenLink,
      text: describe(texts, request),
    })
  })
}

const shownErrors = new Map<number, 'tooManyRequests' | 'unavailable'>([
  [429, 'tooManyRequests'],
  [503, 'unavailable'],
])

/** Shows a browser that it has to wait, for the two errors that every page may have. */
export const showErrorPage: ShowErrorPage = (request, reply) => {
  const name = shownErrors.get(reply.statusCode)
  if (name === undefined || !acceptsHtml(request)) return undefined
  const language = readPageLanguage(request)
  return sendMessage(reply, { language, ...language.texts[name], frameAncestors: '*' })
}
