/**
 * HTML and its text, for many recipients. The parts of a mail differ from one recipient to the next mostly by values. So each
 * value is a mark while HTML becomes text: that happens once for each shape that the template takes, and the values are
 * filled in after. To render and encode the newsletter of the bench `campaigns` (20 KB) takes 400 to 660 microseconds of
 * processor time this way, and 2,000 to 2,700 with the text made for each recipient (22 November 2026). `mime.ts` builds on
 * it: with the pieces encoded once it takes 150 to 480.
 */
import { compile } from 'html-to-text'
import { type FilterImplOptions, filters } from 'liquidjs'
import { joinPieces, onePiece, type Pieces } from '../../mail/mime.ts'
import { createLengthLimiter } from './liquid.ts'

/** The values of one rendering, in order, as each part shows them. */
export type PlaceholderValues = { html: string; text: string }[]

// Of Unicode's private use, which no text has a meaning for.
const placeholder = /\ue000(\d+)\ue001/g
const maxCachedSplits = 16
const maxCachedCharacters = 1_000_000
/** With more of them a part is left whole: to encode so many pieces would take more memory than it saves time. */
const maxPlaceholders = 1_000

const headings = ['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({ selector, options: { uppercase: false } }))
const links = { selector: 'a', options: { hideLinkHrefIfSameAsText: true } }
const htmlToText = compile({ wordwrap: false, selectors: [...headings, links] })
const { escape } = filters as unknown as { escape: (this: unknown, value: unknown) => string }
const unescaped: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&#34;': '"', '&#39;': "'" }

/** For Liquid's `outputEscape`: escapes a value, keeps it in `marks` and leaves a mark in its place. */
export function createPlaceholderEscape(values: PlaceholderValues): FilterImplOptions & ((value: unknown) => string) {
  return function (this: unknown, value: unknown): string {
    const html = escape.call(this, value)
    values.push({ html, text: html.replace(/&[^;]*;/g, (entity) => unescaped[entity] ?? entity).replace(/\s+/g, ' ') })
    return `\ue000${values.length - 1}\ue001`
  } as FilterImplOptions & ((value: unknown) => string)
}

/** A part of a mail, cut at its marks: what stands between them, and which they are. */
interface SplitPart {
  fixed: string[]
  valueIndexes: number[]
}

/** The part with the values in place of the marks. */
export function fillPlaceholders(
  { fixed, valueIndexes }: SplitPart,
  values: PlaceholderValues,
  kind: 'html' | 'text',
): Pieces {
  const limitOutput = createLengthLimiter()
  const part = { fixed, between: valueIndexes.map((index) => limitOutput(values[index]?.[kind] ?? '')) }
  return valueIndexes.length > maxPlaceholders ? onePiece(joinPieces(part)) : part
}

const splitAtPlaceholders = (part: string): SplitPart => {
  const pieces = part.split(placeholder)
  return {
    fixed: pieces.filter((_, index) => index % 2 === 0),
    valueIndexes: pieces.filter((_, index) => index % 2 === 1).map(Number),
  }
}

interface SplitMail {
  html: SplitPart
  text: SplitPart
}

/** Cuts HTML at its marks, and what it says as text where that is asked for. The latest shapes are remembered. */
export function createSplitter({ withText }: { withText: boolean }): (html: string) => SplitMail {
  const cache = new Map<string, SplitMail>()
  let characters = 0
  return (html) => {
    const cached = cache.get(html)
    if (cached) return cached
    const split = { html: splitAtPlaceholders(html), text: splitAtPlaceholders(withText ? convertToText(html) : '') }
    characters += html.length
    if (cache.size >= maxCachedSplits || characters > maxCachedCharacters) {
      cache.clear()
      characters = html.length
    }
    cache.set(html, split)
    return split
  }
}

const maxIndentation = 4_000_000

/** Each line of a list within lists is indented again: so many that they would fill the memory are refused. */
function convertToText(html: string): string {
  let [depth, deepest] = [0, 0]
  for (const [tag] of html.matchAll(/<\/?(?:ul|ol|blockquote)\b/gi)) {
    depth = Math.max(0, depth + (tag.startsWith('</') ? -1 : 1))
    deepest = Math.max(deepest, depth)
  }
  if (deepest * countMaxLines(html) > maxIndentation) throw new Error('length limit exceeded')
  return htmlToText(html)
}

/** At most: an element may make three. */
function countMaxLines(html: string): number {
  let lines = 0
  for (const [character] of html.matchAll(/[<\n]/g)) lines += character === '<' ? 3 : 1
  return lines
}
