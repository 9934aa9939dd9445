/** Adds tracking to HTML, in the rendering thread. `tracking.ts` is separate, because it uses the database. */
import { QuoteType, Tokenizer } from 'htmlparser2'
import { type KeyRing, signPayload } from '../kernel/crypto.ts'
import { createLengthLimiter } from './engine/liquid.ts'
import { insertAtEnd } from './compile-templates.ts'

/**
 * How the HTML for one recipient is tracked. A payload has the UUIDs of workspace and campaign, and that of the contact or
 * an empty text.
 */
export interface Tracking {
  /** The base URL of the pixel and the links. */
  pagesUrl: string
  publicUrl: string
  key: KeyRing[0]
  /** The payload of the pixel; undefined for none. */
  opens: string[] | undefined
  /** The payload of the links. */
  clicks: string[] | undefined
  /** Whether only links are tracked that are the same for every recipient: see `findSharedLinks`. */
  onlySharedLinks: boolean
}

const maxUrlLength = 2_048
const maxLinksLength = 4_000_000

/** Replaces links by tracked links if `clicks` is set, and appends a tracking pixel if `opens` is set. */
export function trackHtml(
  html: string,
  tracking: Tracking | undefined,
  sharedLinks: ReadonlySet<string> = new Set(),
): string {
  if (!tracking) return html
  const { opens, clicks, pagesUrl, publicUrl, key, onlySharedLinks } = tracking
  const isOwnPage = (url: string) => [pagesUrl, publicUrl].some((base) => url.startsWith(`${base}/public/`))
  const limitOutput = createLengthLimiter(maxLinksLength)
  const tracked = clicks ? trackLinks(clicks) : html
  if (!opens) return tracked
  const pixel = `<img src="${createTokenUrl('open', opens)}" width="1" height="1" alt="" style="display:none">`
  return insertAtEnd(tracked, pixel)

  function trackLinks(payload: string[]): string {
    let [result, position] = ['', 0]
    for (const { start, end, isQuoted } of findLinks(html)) {
      const url = parseWebUrl(html.slice(start, end))
      // Links to Rapport's own pages are not tracked, above all not those to unsubscribe and to the preferences.
      if (url === undefined || isOwnPage(url)) continue
      if (onlySharedLinks && !sharedLinks.has(url)) continue
      const tracked = limitOutput(createTokenUrl('click', [...payload, url]))
      result += html.slice(position, start) + (isQuoted ? tracked : `"${tracked}"`)
      position = end
    }
    return result + html.slice(position)
  }

  function createTokenUrl(purpose: 'open' | 'click', values: string[]) {
    return `${pagesUrl}/public/${purpose}?token=${signPayload([key], purpose, values)}`
  }
}

/** The web URLs that HTML links to: those of its first links. */
export function listLinks(html: string, maxLinks = Infinity): string[] {
  const first = findLinks(html).slice(0, maxLinks)
  return first.flatMap(({ start, end }) => parseWebUrl(html.slice(start, end)) ?? [])
}

const characterReference = /&(?:#(\d{1,7})|#x([\da-f]{1,6})|(amp|lt|gt|quot|apos));/gi
const namedReferences: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/** Parses an http or https URL from an HTML attribute. Returns undefined for anything else, and if it is ambiguous. */
function parseWebUrl(attribute: string): string | undefined {
  const url = attribute
    .replace(characterReference, (...match: (string | undefined)[]) => {
      const [, decimal, hex, name = ''] = match
      if (!decimal && !hex) return namedReferences[name.toLowerCase()] ?? ''
      const code = decimal ? Number(decimal) : Number.parseInt(hex ?? '', 16)
      return code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd'
    })
    .trim()
  const isWebUrl = /^https?:\/\//i.test(url) && url.length <= maxUrlLength && URL.canParse(url) && url.isWellFormed()
  return isWebUrl && !/&\w+;/.test(attribute.replace(characterReference, '')) ? url : undefined
}

/** The value of the `href` of an `<a>` or `<area>`, and where it is in the HTML. */
interface Link {
  start: number
  end: number
  isQuoted: boolean
}

/** Finds the links in HTML as a browser does: not in comments, scripts or styles; of repeated attributes, the first. */
function findLinks(html: string): Link[] {
  const links: Link[] = []
  let isAnchor = false
  let isHref = false
  let value = { start: 0, end: 0 }
  const ignore = () => {}
  const tokenizer = new Tokenizer(
    // Positions are those of the source, so the references in it stay as they are.
    { decodeEntities: false },
    {
      onopentagname: (start, end) => void (isAnchor = /^(?:a|area)$/i.test(html.slice(start, end))),
      onattribname(start, end) {
        isHref = isAnchor && html.slice(start, end).toLowerCase() === 'href'
        // An empty value has no data.
        value = { start: end, end }
      },
      onattribdata: (start, end) => void (value = { start, end }),
      onattribend: (quote) => {
        if (!isHref) return
        isAnchor = false
        if (quote !== QuoteType.NoValue) links.push({ ...value, isQuoted: quote !== QuoteType.Unquoted })
      },
      onattribentity: ignore,
      oncdata: ignore,
      onclosetag: ignore,
      oncomment: ignore,
      ondeclaration: ignore,
      onend: ignore,
      onopentagend: ignore,
      onprocessinginstruction: ignore,
      onselfclosingtag: ignore,
      ontext: ignore,
      ontextentity: ignore,
    },
  )
  tokenizer.write(html)
  tokenizer.end()
  return links
}
