/** The guides: Markdown files of the folder `docs/guides`, which the API serves as pages. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'

const folder = resolve(import.meta.dirname, '../../../../docs/guides')

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
  readGuide('index'),
  readGuide('typescript'),
  readGuide('authentication'),
  readGuide('requests'),
  readGuide('errors'),
  readGuide('paging'),
  readGuide('limits'),
  readGuide('idempotency'),
  readGuide('webhooks'),
  readGuide('webhook-delivery'),
  readGuide('contacts'),
  readGuide('imports'),
  readGuide('moving'),
  readGuide('identity'),
  readGuide('segments'),
  readGuide('companies'),
  readGuide('deals'),
  readGuide('notes'),
  readGuide('forms'),
  readGuide('newsletters'),
  readGuide('emails'),
  readGuide('templates'),
  readGuide('sending-domain'),
  readGuide('consent'),
  readGuide('languages'),
  readGuide('privacy'),
  readGuide('agents'),
  readGuide('leaving'),
]

function readGuide(slug: string): Guide {
  const markdown = readFileSync(resolve(folder, `${slug}.md`), 'utf8')
  const [, title = '', summary = ''] = /^# (.+)\n\n([^]+?)\n\n/.exec(markdown) ?? []
  return { slug, title, summary: toSummary(summary), markdown }
}

function toSummary(paragraph: string): string {
  return paragraph.replaceAll('\n', ' ').replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1')
}
