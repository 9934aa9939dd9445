/** The HTML layout of every page: inline styles, no scripts, no external resource but the logo of the workspace. */
import { createHash } from 'node:crypto'
import type { Branding } from '@rapport/core/workspaces/branding.ts'
import { mixWithWhite, whiteShareInDarkMode } from '@rapport/core/kernel/values/color-contrast.ts'
import { type ChosenLanguage, textDirections } from '@rapport/core/kernel/values/languages.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Liquid } from 'liquidjs'
import { z } from 'zod'
import { ErrorBody } from '../http/error-handler.ts'

const style = `
:root { color-scheme: light dark; --ink: #1c2024; --soft: #60646c; --ground: #f6f7f9; --card: #fff; --line: #e0e1e6; --edge: #80838d; --accent: #2f5bea; --wrong: #c62a2f }
@media (prefers-color-scheme: dark) { :root { --ink: #edeef0; --soft: #b0b4ba; --ground: #111113; --card: #18191b; --line: #363a3f; --edge: #7b8087; --accent: #7b9bff; --wrong: #ff9592 } }
* { box-sizing: border-box }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 24px 16px; font: 17px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--ground); overflow-wrap: anywhere }
main { width: 100%; max-width: 460px; padding: 32px; background: var(--card); border: 1px solid var(--line); border-radius: 14px }
.brand { margin: 0 0 20px; font-weight: 600; color: var(--soft) }
.brand img { max-width: 100%; max-height: 56px; vertical-align: middle; color: #1c2024 }
@media (prefers-color-scheme: dark) { .brand img { padding: 6px; border-radius: 8px; background: #fff } }
h1 { margin: 0 0 8px; font-size: 22px; line-height: 1.3 }
main > p { margin: 0 0 24px; color: var(--soft) }
main > p:last-child { margin: 0 }
main > form + p:last-child { margin: 20px 0 0; text-align: center }
button { font: inherit; font-weight: 600; width: 100%; padding: 12px 20px; border: 0; border-radius: 10px; color: var(--card); background: var(--accent); cursor: pointer }
button.secondary { padding: 11px 19px; border: 1px solid var(--edge); color: var(--accent); background: none }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
.field { margin: 20px 0 }
label { display: block; margin: 0 0 4px; font-weight: 600 }
.optional { font-weight: 400; color: var(--soft) }
input, textarea, select { font: inherit; width: 100%; padding: 10px 12px; color: inherit; background: var(--card); border: 1px solid var(--edge); border-radius: 8px }
input, select { min-height: 50px }
textarea { min-height: 120px; resize: vertical; vertical-align: top }
.tick { display: grid; grid-template-columns: auto 1fr; gap: 4px 10px; align-items: start }
.tick input { width: 20px; height: 20px; min-height: 0; margin: 3px 0 0; accent-color: var(--accent) }
.tick label { font-weight: 400; margin: 0 }
.tick p { grid-column: 2 }
.problem { margin: 4px 0 0; font-size: 15px; color: var(--wrong) }
[aria-invalid] { border-color: var(--wrong); border-width: 2px }
.problems { margin: 16px 0; padding: 12px 16px; border: 2px solid var(--wrong); border-radius: 8px }
.problems p, .problems ul { margin: 0; padding: 0; list-style: none }
a { color: var(--accent) }
h2 { margin: 0 0 8px; font-size: 17px; line-height: 1.3 }
section { margin: 24px 0 0; padding: 24px 0 0; border-top: 1px solid var(--line) }
section p { margin: 0 0 16px; font-size: 15px; color: var(--soft) }
.notice { margin: 0 0 24px; padding: 12px 16px; border: 1px solid var(--accent); border-radius: 8px }
.notice p { margin: 0 }
.rows { margin: 0; padding: 0; list-style: none }
.rows li { display: flex; flex-wrap: wrap; gap: 8px 16px; align-items: center; margin: 0; padding: 10px 0 }
.rows div { flex: 1 1 180px; min-width: 0 }
.rows p { margin: 2px 0 0; white-space: pre-line }
.rows button { width: auto; min-height: 44px; padding: 8px 14px; font-size: 15px }
fieldset { margin: 0 0 24px; padding: 12px 16px 16px; border: 1px solid var(--line); border-radius: 10px; min-width: 0 }
legend { padding: 0 6px; font-weight: 600 }
fieldset p { margin: 0 0 12px; font-size: 15px; color: var(--soft) }
fieldset .tick { margin: 8px 0 0 }
li { margin-top: 6px }
.problems a { color: var(--wrong) }
.trap { position: absolute; left: -9999px }
@media (max-width: 480px) { main { padding: 24px 20px } }`

export const engine = new Liquid({ outputEscape: 'escape', templates: {}, ownPropertyOnly: true })
const layout = engine.parse(`<!doctype html>
<html lang="{{ language.locale }}" dir="{{ direction }}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>{{ title }}</title>
<style>{{ style | raw }}</style>
{%- if brandStyle %}
<style>{{ brandStyle | raw }}</style>
{%- endif %}
</head>
<body>
<main>
{%- if branding.logoUrl %}
<div class="brand"><img src="{{ branding.logoUrl }}" alt="{{ branding.name }}"></div>
{%- elsif branding %}
<div class="brand">{{ branding.name }}</div>
{%- endif %}
<h1>{{ heading }}</h1>
{{ content | raw }}
</main>
</body>
</html>
`)

const hashOf = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`
const styleHash = hashOf(style)

function accentStyle(color: string): string {
  const light = mixWithWhite(color, whiteShareInDarkMode)
  return `:root { --accent: ${color} } @media (prefers-color-scheme: dark) { :root { --accent: ${light} } }`
}

/** The response schema of a route that sends a page. */
export const pageResponse = { content: { 'text/html': { schema: z.string().describe('An HTML page') } } }
/** The response schema of an error: a page for browsers, JSON for programs. */
export const errorPageResponse = { content: { ...pageResponse.content, 'application/json': { schema: ErrorBody } } }

interface Document {
  language: ChosenLanguage
  /** The title of the window. Default: the heading. */
  title?: string
  heading: string
  /** HTML in which every value is already escaped. */
  content: string
  /** The workspace that the page belongs to, if it is known. */
  branding?: Branding | undefined
  /** The sites that may embed the page in a frame. Default: none. */
  frameAncestors?: '*'
}

export function sendDocument(reply: FastifyReply, document: Document): FastifyReply {
  const { language, heading, title = heading, content, branding, frameAncestors = `'none'` } = document
  const direction = textDirections[language.language]
  const brandStyle = branding?.accentColor && accentStyle(branding.accentColor)
  const policy = [
    `default-src 'none'`,
    `style-src ${styleHash}${brandStyle ? ` ${hashOf(brandStyle)}` : ''}`,
    ...(branding?.logoUrl ? [`img-src ${new URL(branding.logoUrl).origin}`] : []),
    `form-action 'self'`,
    `base-uri 'none'`,
    `frame-ancestors ${frameAncestors}`,
  ]
  reply.vary('accept-language')
  return reply
    .type('text/html; charset=utf-8')
    .header('content-security-policy', policy.join('; '))
    .header('content-language', language.locale)
    .header('x-robots-tag', 'noindex')
    .preventCache()
    .send(
      String(engine.renderSync(layout, { language, direction, title, heading, content, style, branding, brandStyle })),
    )
}

/** Whether the request comes from a browser rather than a program. */
export function acceptsHtml(request: FastifyRequest): boolean {
  return (request.headers.accept ?? '').includes('text/html')
}
