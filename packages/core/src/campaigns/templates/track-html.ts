/** Adds tracking to HTML, in the rendering thread. `tracking.ts` is separate, because it uses the database. */
import { type KeyRing, signPayload } from '../../kernel/crypto.ts'
import { findLinks } from './find-links.ts'
import { createLengthLimiter } from './liquid.ts'
import { insertAtEnd } from './templates.ts'

/** How the HTML for one recipient is tracked. `payload`: the UUIDs of workspace, campaign and contact. */
export interface Tracking {
  opens: boolean
  clicks: boolean
  publicUrl: string
  key: KeyRing[0]
  payload: string[]
}

const maxUrlLength = 2_048
const maxLinksLength = 4_000_000

/** Replaces links by tracked links if `clicks` is set, and appends a tracking pixel if `opens` is set. */
export function trackHtml(html: string, { opens, clicks, publicUrl, key, payload }: Tracking): string {
  const limitOutput = createLengthLimiter(maxLinksLength)
  const tracked = clicks ? trackLinks() : html
  if (!opens) return tracked
  const pixel = `<img src="${createTokenUrl('open', payload)}" width="1" height="1" alt="" style="display:none">`
  return insertAtEnd(tracked, pixel)

  function trackLinks(): string {
    let [result, position] = ['', 0]
    for (const { start, end, isQuoted } of findLinks(html)) {
      const url = parseWebUrl(html.slice(start, end))
      // Links to Rapport's own pages are not tracked, above all the unsubscribe link.
      if (url === undefined || url.startsWith(`${publicUrl}/public/`)) continue
      const tracked = limitOutput(createTokenUrl('click', [...payload, url]))
      result += html.slice(position, start) + (isQuoted ? tracked : `"${tracked}"`)
      position = end
    }
    return result + html.slice(position)
  }

  function createTokenUrl(purpose: 'open' | 'click', values: string[]) {
    return `${publicUrl}/public/${purpose}?token=${signPayload([key], purpose, values)}`
  }
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
