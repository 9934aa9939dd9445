/** The guides: Markdown files of the folder `docs`, which the API serves as pages. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'

const folder = resolve(import.meta.dirname, '../../../../docs')

export interface Guide {
  /** The name in URLs: `/docs/errors` is the page, `/docs/errors.md` its Markdown. The first page is `/docs/`. */
  slug: string
  /** The first heading. */
  title: string
  /** The first paragraph. */
  summary: string
  markdown: string
}

/** In reading order. */
export const guides: readonly Guide[] = [
  readGuide('index'),
  readGuide('authentication'),
  readGuide('errors'),
  readGuide('paging'),
  readGuide('limits'),
  readGuide('idempotency'),
  readGuide('webhooks'),
  readGuide('templates'),
  readGuide('consent'),
]

function readGuide(slug: string): Guide {
  const markdown = readFileSync(resolve(folder, 'guides', `${slug}.md`), 'utf8')
  const [, title = '', summary = ''] = /^# (.+)\n\n([^]+?)\n\n/.exec(markdown) ?? []
  return { slug, title, summary: summary.replaceAll('\n', ' '), markdown }
}
