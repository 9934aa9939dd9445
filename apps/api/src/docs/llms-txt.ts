/** The documentation as text for language models: https://llmstxt.org */
import type { Guide } from './guides.ts'

/** `/llms.txt`: a summary, and links to every guide and to the description of the API. */
export function renderLlmsTxt(guides: readonly Guide[], publicUrl: string): string {
  const links = guides.map(({ slug, title, summary }) => `- [${title}](${publicUrl}/docs/${slug}.md): ${summary}`)
  return `# Rapport

> Rapport is a headless CRM: contacts, forms, lists, newsletters, deals, tasks and webhooks behind one HTTP API.

The API of this installation is at ${publicUrl}. Requests are JSON, with the header \`Authorization: Bearer <API key>\`.

## Guides

${links.join('\n')}

## API

- [OpenAPI 3.1 document](${publicUrl}/openapi.json): Every operation, with schemas, examples, required roles and rights. For programs that read only OpenAPI 3.0, add \`?version=3.0\`.
- [API reference](${publicUrl}/docs/reference): The same as a web page, which needs JavaScript.

## Optional

- [All guides in one file](${publicUrl}/llms-full.txt): The text of every guide above.
`
}

/** `/llms-full.txt`: all guides, joined. A link is absolute, as the file is not in the folder of the guides. */
export function joinGuides(
  guides: readonly Guide[],
  { publicUrl, complete }: { publicUrl: string; complete: (guide: Guide) => string },
): string {
  const texts = guides.map((guide) =>
    complete(guide).replaceAll(
      /\]\(([\w-]+\.md)?(#[\w-]+)?\)/g,
      (_link, file = `${guide.slug}.md`, anchor = '') => `](${publicUrl}/docs/${file}${anchor})`,
    ),
  )
  return texts.join('\n')
}
