import { Liquid } from 'liquidjs'

const engine = new Liquid({ outputEscape: 'escape', templates: {}, ownPropertyOnly: true })

const layout = engine.parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>{{ title }}</title></head>
<body style="margin:0;padding:32px 16px;font:16px/1.5 system-ui,sans-serif;color:#1c2024;background:#f6f7f9">
<div style="max-width:520px;margin:0 auto;padding:32px;background:#fff;border-radius:12px">
<h1 style="margin:0 0 16px;font-size:20px">{{ title }}</h1>
{%- for paragraph in paragraphs %}
<p style="margin:0 0 16px">{{ paragraph }}</p>
{%- endfor %}
<p style="margin:24px 0"><a href="{{ button.url }}" style="display:inline-block;padding:12px 20px;border-radius:8px;background:#2f5bea;color:#fff;text-decoration:none">{{ button.label }}</a></p>
<p style="margin:0;font-size:13px;color:#60646c">{{ small }}</p>
</div></body></html>`)

interface Letter {
  title: string
  paragraphs: string[]
  button: { label: string; url: string }
  small: string
}

/** A short letter with one button, as HTML and as text. Everything is escaped: a stranger's name stays a name. */
export function renderLetter(letter: Letter): { html: string; text: string } {
  const html = String(engine.renderSync(layout, letter))
  const text = [letter.title, ...letter.paragraphs, `${letter.button.label}:\n${letter.button.url}`, letter.small]
  return { html, text: `${text.join('\n\n')}\n` }
}
