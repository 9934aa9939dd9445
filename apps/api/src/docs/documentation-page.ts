/** The HTML of the documentation: the guides, and the page that loads the API reference. */
import { version } from '@rapport/core/runtime/version.ts'
import { engine } from '../pages/document.ts'
import type { Guide } from './guides.ts'

// Every URL is relative, so that the pages also work behind a proxy that adds a path.
const head = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ title }}</title>
<meta name="description" content="{{ summary }}">
<link rel="icon" href="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' rx='4' fill='%232f5bea'/%3E%3Cpath d='M5 12V4h3.5a2.5 2.5 0 0 1 0 5H5m3 0 3 3' fill='none' stroke='%23fff' stroke-width='1.6'/%3E%3C/svg%3E">
<link rel="stylesheet" href="style.css">
<link rel="service-desc" type="application/vnd.oai.openapi+json" href="../openapi.json">`

const header = `<a class="skip" href="#content">Skip to the content</a>
<header class="bar">
<a class="brand" href="../">Rapport <span>{{ version }}</span></a>
<nav aria-label="Documentation">
<a href="./"{% unless isReference %} aria-current="true"{% endunless %}>Guides</a>
<a href="reference"{% if isReference %} aria-current="true"{% endif %}>API reference</a>
<a href="../openapi.json">OpenAPI</a>
</nav>
</header>`

const guideTemplate = engine.parse(`${head}
<link rel="alternate" type="text/markdown" href="{{ guide.slug }}.md">
<link rel="alternate" type="text/plain" title="All guides" href="../llms.txt">
</head>
<body>
${header}
<div class="columns">
<main id="content">
{{ content | raw }}
<footer>
{%- if next %}
<a href="{{ next.href }}">Next: {{ next.title }}</a>
{%- endif %}
<a href="{{ guide.slug }}.md">This page as Markdown</a>
</footer>
</main>
<nav class="guides" aria-label="Guides">
<ul>
{%- for entry in guides %}
<li><a href="{{ entry.href }}"{% if entry.slug == guide.slug %} aria-current="page"{% endif %}>{{ entry.title }}</a></li>
{%- endfor %}
<li><a href="reference">API reference</a></li>
</ul>
</nav>
</div>
</body>
</html>
`)

const referenceTemplate = engine.parse(`${head}
</head>
<body class="reference">
${header}
<div id="content">
<noscript><p>The API reference needs JavaScript. The same content is in <a href="../openapi.json">openapi.json</a>.</p></noscript>
<script id="api-reference" data-url="../openapi.json" data-configuration="{{ configuration }}"></script>
</div>
<script src="scalar.js"></script>
</body>
</html>
`)

/** The URL of a guide, relative to the other pages. */
export const hrefOf = ({ slug }: Guide) => (slug === 'index' ? './' : slug)

export function renderGuidePage(guide: Guide, { content, guides }: { content: string; guides: readonly Guide[] }) {
  const entries = guides.map((entry) => ({ ...entry, href: hrefOf(entry) }))
  const next = entries[guides.indexOf(guide) + 1]
  const title = guide.slug === 'index' ? guide.title : `${guide.title} · Rapport API`
  return String(
    engine.renderSync(guideTemplate, { title, summary: guide.summary, version, guide, guides: entries, content, next }),
  )
}

export function renderReferencePage(configuration: object): string {
  const title = 'API reference · Rapport'
  const summary = 'Every operation of the Rapport API.'
  const values = { title, summary, version, isReference: true, configuration: JSON.stringify(configuration) }
  return String(engine.renderSync(referenceTemplate, values))
}
