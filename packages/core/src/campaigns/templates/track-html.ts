/** Tracking as it is written into a mail. Apart from what is noted of people, as it happens where templates are rendered. */
import { type KeyRing, signPayload } from '../../kernel/crypto.ts'
import { createLengthLimiter } from './liquid.ts'
import { insertAtEnd } from './templates.ts'

/** How the HTML to one person is tracked, and who that is: the UUIDs of workspace, campaign and contact. */
export interface Tracking {
  opens: boolean
  clicks: boolean
  publicUrl: string
  key: KeyRing[0]
  payload: string[]
}

const maxUrlLength = 2_048
const maxLinksLength = 4_000_000

/** The links of an HTML part lead through clicks, and a pixel stands at its end, each where asked for. */
export function trackHtml(html: string, { opens, clicks, publicUrl, key, payload }: Tracking): string {
  const limitOutput = createLengthLimiter(maxLinksLength)
  const tracked = clicks ? html.replace(linkInHtml, (...match: string[]) => limitOutput(trackLink(...match))) : html
  if (!opens) return tracked
  const pixel = `<img src="${createTokenUrl('open', payload)}" width="1" height="1" alt="" style="display:none">`
  return insertAtEnd(tracked, pixel)

  function trackLink(...match: string[]): string {
    const [whole = '', before = '', quote = '', value = ''] = match
    const url = parseWebUrl(value)
    // Our own pages stay what they are: above all the link that unsubscribes.
    if (url === undefined || url.startsWith(`${publicUrl}/public/`)) return whole
    return `${before}${quote}${createTokenUrl('click', [...payload, url])}${quote}`
  }

  function createTokenUrl(purpose: 'open' | 'click', values: string[]) {
    return `${publicUrl}/public/${purpose}?token=${signPayload([key], purpose, values)}`
  }
}

const linkInHtml = /(<(?:a|area)\s(?:[^<>"']|"[^"]*"|'[^']*')*?\bhref\s*=\s*)(["'])(.*?)\2/gis
const characterReference = /&(?:#(\d{1,7})|#x([\da-f]{1,6})|(amp|lt|gt|quot|apos));/gi
const namedReferences: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/** The http or https address that an attribute says; undefined for any other, and for what is not surely understood. */
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
