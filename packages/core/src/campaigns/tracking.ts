/**
 * Opt-in tracking: a pixel tells an opening, a link a click. What a link leads to is inside its signed token, so that
 * nobody can make one that leads elsewhere.
 */
import type { BaseCtx, Ctx } from '../context.ts'
import { AppError, isDatabaseUnavailable } from '../errors.ts'
import { idOf, uuidOf } from '../ids.ts'
import { openPayload, signPayload } from '../secrets.ts'
import { insertAtEnd } from './templates.ts'
import { type Engagement, type MailedPerson, noteEngagement } from './engagement.ts'

const longestUrl = 2_048

/** The links of an HTML part lead through clicks, and a pixel stands at its end, each where asked for. */
export function trackHtml(
  ctx: Ctx,
  html: string,
  { person, opens, clicks }: { person: MailedPerson; opens: boolean; clicks: boolean },
): string {
  const tracked = clicks ? html.replace(linkInHtml, trackLink) : html
  if (!opens) return tracked
  const pixel = `<img src="${tokenUrl(ctx, 'open', payloadOf(ctx, person))}" width="1" height="1" alt="" style="display:none">`
  return insertAtEnd(tracked, pixel)

  function trackLink(...match: string[]): string {
    const [whole = '', before = '', quote = '', value = ''] = match
    const url = webAddress(value)
    // Our own pages stay what they are: above all the link that unsubscribes.
    if (url === undefined || url.startsWith(`${ctx.settings.publicUrl}/public/`)) return whole
    return `${before}${quote}${tokenUrl(ctx, 'click', [...payloadOf(ctx, person), url])}${quote}`
  }
}

/** Notes an opening, by the token of a pixel. Forged or damaged: invalid. */
export async function openPixel(base: BaseCtx, token: string): Promise<void> {
  const payload = openPayload(base.settings.keys.links, 'open', token)
  if (!payload) throw invalidLink()
  await note(base, payload, 'opened')
}

/** Notes a click, by the token of a link, and answers where it leads. Forged or damaged: invalid. */
export async function followLink(base: BaseCtx, token: string, { isNoted }: { isNoted: boolean }): Promise<string> {
  const payload = openPayload(base.settings.keys.links, 'click', token)
  if (!payload) throw invalidLink()
  if (isNoted) await note(base, payload, 'clicked')
  return new URL(String(payload[3])).href
}

const invalidLink = () => new AppError('invalid', 'Invalid or expired link')

/** What cannot be noted now is not noted: the reader is to see the picture and the page all the same. */
async function note(base: BaseCtx, [workspace, campaign, contact]: (string | number)[], engagement: Engagement) {
  const ctx: Ctx = { ...base, workspaceId: idOf('wsp', String(workspace)), actor: { kind: 'public' } }
  const person = { campaignId: idOf('cmp', String(campaign)), contactId: idOf('con', String(contact)) }
  await noteEngagement(ctx, person, engagement).catch((error: unknown) => {
    if (!isDatabaseUnavailable(error)) throw error
  })
}

const payloadOf = (ctx: Ctx, person: MailedPerson) => [ctx.workspaceId, person.campaignId, person.contactId].map(uuidOf)

function tokenUrl(ctx: Ctx, purpose: 'open' | 'click', payload: string[]) {
  return `${ctx.settings.publicUrl}/public/${purpose}?token=${signPayload(ctx.settings.keys.links, purpose, payload)}`
}

const linkInHtml = /(<(?:a|area)\s(?:[^>"']|"[^"]*"|'[^']*')*?\bhref\s*=\s*)(["'])(.*?)\2/gis
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
