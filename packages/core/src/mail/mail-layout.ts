import { Liquid } from 'liquidjs'
import { type ChosenLanguage, colons, textDirections } from '../kernel/values/languages.ts'
import { mixWithWhite, whiteShareInDarkMode } from '../kernel/values/color-contrast.ts'

const engine = new Liquid({ outputEscape: 'escape', templates: {}, ownPropertyOnly: true })

/**
 * Light colors are inline, because some email clients remove style blocks. Dark colors are in a style block, for
 * clients that support `prefers-color-scheme`. Tables and `mso` conditions are for Outlook on Windows, which renders
 * HTML with Word.
 */
const layout = engine.parse(`<!doctype html>
<html lang="{{ language.locale }}" dir="{{ direction }}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><meta name="supported-color-schemes" content="light dark">
<meta name="x-apple-disable-message-reformatting"><title>{{ title }}</title>
<style>
:root { color-scheme: light dark; supported-color-schemes: light dark }
@media (prefers-color-scheme: dark) {
.ground { background: #111113 !important }
.card { background: #18191b !important }
.ink { color: #edeef0 !important }
.soft { color: #b0b4ba !important }
.logo { padding: 6px !important; border-radius: 8px !important; background: #ffffff !important }
.button { color: #18191b !important; background: {{ darkAccent }} !important }
}
</style>
<!--[if mso]><style>* { font-family: 'Segoe UI', Arial, sans-serif !important }</style><![endif]-->
</head>
<body class="ground" style="margin:0;padding:0;background:#f6f7f9">
<table role="presentation" class="ground" width="100%" cellpadding="0" cellspacing="0" border="0" style="background:#f6f7f9"><tr><td align="center" style="padding:32px 16px">
<!--[if mso]><table role="presentation" width="520" cellpadding="0" cellspacing="0" border="0"><tr><td><![endif]-->
<table role="presentation" class="card" width="100%" cellpadding="0" cellspacing="0" border="0" style="max-width:520px;background:#ffffff;border-radius:12px"><tr><td align="left" class="ink" style="padding:32px;font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;color:#1c2024;overflow-wrap:anywhere;word-break:break-word">
{%- if logo %}
<img class="logo" src="{{ logo.url }}" alt="{{ logo.name }}" style="display:block;max-width:100%;max-height:56px;margin:0 0 20px;border:0">
{%- endif %}
<h1 class="ink" style="margin:0 0 16px;font-size:20px;line-height:1.3;color:#1c2024">{{ title }}</h1>
{%- for paragraph in paragraphs %}
<p style="margin:0 0 24px">{{ paragraph }}</p>
{%- endfor %}
{%- if button %}
<table role="presentation" cellpadding="0" cellspacing="0" border="0"><tr><td class="button" bgcolor="{{ accent }}" style="border-radius:8px;background:{{ accent }};mso-padding-alt:12px 20px"><a class="button" href="{{ button.url }}" style="display:inline-block;padding:12px 20px;border-radius:8px;font-weight:600;color:#ffffff;background:{{ accent }};text-decoration:none;mso-padding-alt:0">{{ button.label }}</a></td></tr></table>
{%- endif %}
<p class="soft" style="margin:24px 0 0;font-size:14px;color:#60646c">{{ small }}</p>
</td></tr></table>
<!--[if mso]></td></tr></table><![endif]-->
</td></tr></table>
</body></html>`)

export interface MailContent {
  language: ChosenLanguage
  title: string
  paragraphs: string[]
  button?: { label: string; url: string }
  small: string
  /** Of the workspace that sends the mail. */
  branding?: { name: string; logoUrl: string | null; accentColor: string | null } | undefined
}

/** Renders a short mail with at most one button, as HTML and as text. All values are escaped in HTML. */
export function renderMailLayout(content: MailContent): { html: string; text: string } {
  const { language, title, paragraphs, button, small, branding } = content
  const direction = textDirections[language.language]
  const { accentColor: color = null, logoUrl = null, name = '' } = branding ?? {}
  const colors = color
    ? { accent: color, darkAccent: mixWithWhite(color, whiteShareInDarkMode) }
    : { accent: '#2f5bea', darkAccent: '#7b9bff' }
  const logo = logoUrl === null ? undefined : { url: logoUrl, name }
  const html = String(engine.renderSync(layout, { ...content, ...colors, logo, direction }))
  const colon = colons[language.language]
  const text = [title, ...paragraphs, ...(button ? [`${button.label}${colon}\n${button.url}`] : []), small]
  return { html, text: `${text.join('\n\n')}\n` }
}
