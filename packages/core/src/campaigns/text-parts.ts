/**
 * The text that HTML says, for many recipients. To read HTML takes ten times as long as to render it; but what differs
 * from one recipient to the next are mostly values. So each value is a mark while HTML becomes text, which then happens
 * once for each shape that the template takes, and the values are filled in after.
 */
import { compile } from 'html-to-text'
import { type FilterImplOptions, filters } from 'liquidjs'

/** The values of one rendering, in order, as each part shows them. */
export type Marks = { html: string; text: string }[]

// Of Unicode's private use, which no text has a meaning for.
const mark = /\ue000(\d+)\ue001/g
const shapesKept = 16

const headings = ['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({ selector, options: { uppercase: false } }))
const links = { selector: 'a', options: { hideLinkHrefIfSameAsText: true } }
const toText = compile({ wordwrap: false, selectors: [...headings, links] })
const { escape } = filters as unknown as { escape: (this: unknown, value: unknown) => string }
const unescaped: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&#34;': '"', '&#39;': "'" }

/** For Liquid's `outputEscape`: escapes a value, keeps it in `marks` and leaves a mark in its place. */
export function markValues(marks: Marks): FilterImplOptions & ((value: unknown) => string) {
  return function (this: unknown, value: unknown): string {
    const html = escape.call(this, value)
    marks.push({ html, text: html.replace(/&[^;]*;/g, (one) => unescaped[one] ?? one).replace(/\s+/g, ' ') })
    return `\ue000${marks.length - 1}\ue001`
  } as FilterImplOptions & ((value: unknown) => string)
}

/** `part` with the values in place of the marks. */
export function fillMarks(part: string, marks: Marks, kind: 'html' | 'text'): string {
  if (marks.length === 0) return part
  return part.replace(mark, (_whole, index: string) => marks[Number(index)]?.[kind] ?? '')
}

/** Makes text of HTML, and remembers the latest shapes. */
export function textsOfShapes(): (shape: string) => string {
  const known = new Map<string, string>()
  return (shape) => {
    const text = known.get(shape) ?? toText(shape)
    if (known.size >= shapesKept) known.clear()
    known.set(shape, text)
    return text
  }
}
