import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Liquid } from 'liquidjs'

const style = `
:root { color-scheme: light dark; --ink: #1c2024; --soft: #60646c; --ground: #f6f7f9; --card: #fff; --line: #e0e1e6; --accent: #2f5bea }
@media (prefers-color-scheme: dark) { :root { --ink: #edeef0; --soft: #b0b4ba; --ground: #111113; --card: #18191b; --line: #363a3f; --accent: #7b9bff } }
* { box-sizing: border-box }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 24px 16px; font: 17px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--ground) }
main { width: 100%; max-width: 460px; padding: 32px; background: var(--card); border: 1px solid var(--line); border-radius: 14px }
h1 { margin: 0 0 8px; font-size: 22px; line-height: 1.3 }
p { margin: 0 0 24px; color: var(--soft) }
p:last-child { margin: 0 }
button { font: inherit; font-weight: 600; width: 100%; padding: 12px 20px; border: 0; border-radius: 10px; color: var(--card); background: var(--accent); cursor: pointer }
button:focus-visible { outline: 3px solid var(--ink); outline-offset: 2px }`

const engine = new Liquid({ outputEscape: 'escape', templates: {}, ownPropertyOnly: true })
const layout = engine.parse(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>{{ title }}</title>
<style>{{ style | raw }}</style>
</head>
<body>
<main>
<h1>{{ title }}</h1>
<p>{{ text }}</p>
{%- if button %}
<form method="post"><button>{{ button }}</button></form>
{%- endif %}
</main>
</body>
</html>
`)

const styleHash = createHash('sha256').update(style).digest('base64')
const policy = [
  `default-src 'none'`,
  `style-src 'sha256-${styleHash}'`,
  `form-action 'self'`,
  `base-uri 'none'`,
  `frame-ancestors 'none'`,
].join('; ')

/** Whether it is a person who looks, by their browser. */
export function wantsHtml(request: FastifyRequest): boolean {
  return (request.headers.accept ?? '').includes('text/html')
}

/** A page with one thing to say and at most one button, which posts to the page's own address. Values are escaped. */
export function sendPage(reply: FastifyReply, page: { title: string; text: string; button?: string }): FastifyReply {
  return reply
    .type('text/html; charset=utf-8')
    .header('content-security-policy', policy)
    .header('referrer-policy', 'no-referrer')
    .header('cache-control', 'no-store')
    .send(String(engine.renderSync(layout, { ...page, style })))
}
