/** Tracking as it is written into a mail. Apart from what is noted of people, as it happens where templates are rendered. */
import { type KeyRing, signPayload } from '../../kernel/crypto.ts'
import { limitLength } from './liquid.ts'
import { insertAtEnd } from './templates.ts'

/** How the HTML to one person is tracked, and who that is: the UUIDs of workspace, campaign and contact. */
export interface Tracking {
  opens: boolean
  clicks: boolean
  publicUrl: string
  key: KeyRing[0]
  payload: string[]
}

const longestUrl = 2_048
const longestLinks = 4_000_000

/** The links of an HTML part lead through clicks, and a pixel stands at its end, each where asked for. */
export function trackHtml(html: string, { opens, clicks, publicUrl, key, payload }: Tracking): string {
  const take = limitLength(longestLinks)
  const tracked = clicks ? html.replace(linkInHtml, (...match: string[]) => take(trackLink(...match))) : html
  if (!opens) return tracked
  const pixel = `<img src="${tokenUrl('open', payload)}" width="1" height="1" alt="" style="display:none">`
  return insertAtEnd(tracked, pixel)

  function trackLink(...match: string[]): string {
    const [whole = '', before = '', quote = '', value = ''] = match
    const url = webAddress(value)
    // Our own pages stay what they are: above all the link that unsubscribes.
    if (url === undefined || url.startsWith(`${publicUrl}/public/`)) return whole
    return `${before}${quote}${tokenUrl('click', [...payload, url])}${quote}`
  }

  function tokenUrl(purpose: 'open' | 'click', what: string[]) {
    return `${publicUrl}/public/${purpose}?token=${signPayload([key], purpose, what)}`
  }
}

const linkInHtml = /(<(?:a|area)\s(?:[^<>"']|"[^"]*"|'[^']*')*?\bhref\s*=\s*)(["'])(.*?)\2/gis
const characterReference = /&(?:#(\d{1,7})|#x([\da-f]{1,6})|(amp|lt|gt|quot|apos));/gi
const named: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/** The http or https address that an attribute says; undefined for any other, and for what is not surely understood. */
function webAddress(attribute: string): string | undefined {
  const url = attribute
    .replace(characterReference, (...match: (string | undefined)[]) => {
      const [, decimal, hex, name = ''] = match
      if (!decimal && !hex) return named[name.toLowerCase()] ?? ''
      const code = decimal ? Number(decimal) : Number.parseInt(hex ?? '', 16)
      return code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd'
    })
    .trim()
  const isUnderstood = /^https?:\/\//i.test(url) && url.length <= longestUrl && URL.canParse(url) && url.isWellFormed()
  return isUnderstood && !/&\w+;/.test(attribute.replace(characterReference, '')) ? url : undefined
}
