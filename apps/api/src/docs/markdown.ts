import GithubSlugger from 'github-slugger'
import { Marked } from 'marked'

/** `docUrl` of an error leads to the row of its code. */
const tableOfCodes = /<table>\n<thead>\n<tr>\n<th>Code<\/th>[^]*?<\/table>/

/**
 * Renders Markdown as HTML. `resolveLink` returns the URL of a link on the page, or undefined to show only its text.
 */
export function renderMarkdown(markdown: string, resolveLink: (href: string) => string | undefined): string {
  const slugger = new GithubSlugger()
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text }) {
        // The same anchors as on GitHub.
        const id = slugger.slug(text.replaceAll('`', ''))
        return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}</h${depth}>\n`
      },
      link({ href, tokens }) {
        const text = this.parser.parseInline(tokens)
        const url = resolveLink(href)
        return url === undefined ? text : `<a href="${url}">${text}</a>`
      },
    },
  })
  // Code and tables may scroll sideways, so they accept the keyboard focus.
  return marked
    .parse(markdown, { async: false })
    .replace(tableOfCodes, (table) =>
      table.replaceAll(/<tr>\n<td><code>(\w+)<\/code>/g, '<tr id="$1">\n<td><code>$1</code>'),
    )
    .replaceAll('<pre>', '<pre tabindex="0">')
    .replaceAll('<table>', '<div class="table" tabindex="0"><table>')
    .replaceAll('</table>', '</table></div>')
}
