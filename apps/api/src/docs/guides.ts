/** The guides: Markdown files of the folder `docs`, which the API serves as pages. */
import { readFileSync } from 'node:fs'
import { basename, resolve } from 'node:path'

const folder = resolve(import.meta.dirname, '../../../../docs')

export interface Guide {
  /** The name in URLs: `/docs/errors` is the page, `/docs/errors.md` its Markdown. The first page is `/docs/`. */
  slug: string
  /** The first heading. */
  title: string
  /** The first paragraph, without its links. */
  summary: string
  markdown: string
}

/** In reading order. */
export const guides: readonly Guide[] = [
  readGuide('guides/index.md'),
  readGuide('guides/typescript.md'),
  readGuide('guides/authentication.md'),
  readGuide('guides/requests.md'),
  readGuide('guides/errors.md'),
  readGuide('guides/paging.md'),
  readGuide('guides/limits.md'),
  readGuide('guides/idempotency.md'),
  readGuide('guides/webhooks.md'),
  readGuide('guides/contacts.md'),
  readGuide('imports.md'),
  readGuide('guides/moving.md'),
  readGuide('guides/identity.md'),
  readGuide('guides/segments.md'),
  readGuide('guides/deals.md'),
  readGuide('guides/forms.md'),
  readGuide('guides/newsletters.md'),
  readGuide('templates.md'),
  readGuide('guides/sending-domain.md'),
  readGuide('guides/consent.md'),
  readGuide('guides/languages.md'),
  readGuide('privacy.md'),
  readGuide('guides/agents.md'),
  readGuide('guides/leaving.md'),
]

function readGuide(path: string): Guide {
  // The API serves all guides in one folder.
  const markdown = readFileSync(resolve(folder, path), 'utf8').replaceAll(/\]\((?:\.\.|guides)\//g, '](')
  const [, title = '', summary = ''] = /^# (.+)\n\n([^]+?)\n\n/.exec(markdown) ?? []
  return { slug: basename(path, '.md'), title, summary: toSummary(summary), markdown }
}

function toSummary(paragraph: string): string {
  return paragraph.replaceAll('\n', ' ').replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1')
}
