/**
 * Columns whose names speak of consent. Well-known names are read: that can only confirm fewer people. Of other such names
 * the caller has to say what they are, so that no opt-out is lost.
 */
import type { Layout } from '../../db/schema/imports.ts'
import { AppError } from '../../kernel/errors.ts'
import type { FileRow } from '../file/csv-rows.ts'
import { readCell } from '../words/cells.ts'
import { keysByWord, toLetters, toPrintable, toWords } from '../words/names.ts'
import type { YesNoColumn } from '../words/status-columns.ts'
import { speaksOfConsent } from '../words/statuses.ts'

/** Names of exports, without accents, spaces and punctuation: Ghost, Mautic, HubSpot, Loops, Salesforce, Zoho, Shopify … */
const knownNames: Record<Exclude<YesNoColumn, 'status.consent'> | 'unsubscribedAt', string> = {
  'status.subscribed': `subscribed issubscribed subscribedtoemails subscribedtoemail subscribedtonewsletter emailsubscribed
    newslettersubscribed mailchimpwoocommerceissubscribed`,
  'status.optedIn': `optin optedin emailoptin emailoptedin doubleoptin marketingoptin newsletteroptin acceptsmarketing
    acceptsemailmarketing emailconsent marketingconsent emailmarketingconsent confirmed isconfirmed emailconfirmed
    verified isverified emailverified activated isactivated`,
  'status.unsubscribed': 'unsubscribed isunsubscribed unsubscribedfromlist unsubscribedfromnewsletter',
  'status.optedOut': `optout optedout emailoptout emailoptedout hasoptedoutofemail optedoutofemail unsubscribedfromallemail
    unsubscribedfromallemails unsubscribedfromall globalunsubscribe donotcontact donotemail donotmail
    donotcontactemail donotbulkemail dnc isdnc blacklisted blocklisted isblacklisted isblocklisted
    emailblacklisted optoutofemail emaildisabled emailsdisabled emailaddressisoptedout emailaddressoptedout
    portalunsubscribe`,
  'status.bounced': `bounced hardbounced isbounced emailbounced emailhardbounced portalbounce globalbounce invalidemail
    emailinvalid isemailinvalid emailaddressisinvalid invalid isinvalid`,
  'status.complained': `complained markedasspam markedspam spamcomplaint reportedspam portalspamreport globalspamreport`,
  status: `emailmarketingstatus subscriptionstatus subscriberstatus emailsubscriptionstatus optinstatus
    doubleoptinstatus emailpermissionstatus subscribestatus`,
  unsubscribedAt: `unsubscribedat unsubscribedon unsubscribeddate unsubscribedate dateunsubscribed unsubtime optoutdate
    optoutat optouttime optedoutat optedouton optedoutdate dateoptedout unsubscriptiondate unsubscribetime
    unsubscribeat emailunsubscribedat deactivated deactivatedat`,
}
const columnsByName = keysByWord(knownNames)

/** The column that every file means by this name. */
export const findConsentColumn = (name: string): string | undefined => columnsByName.get(toLetters(name))

/** Whether a column with this name speaks against emails, so the caller has to say whether a custom field takes it. */
export const isOptOutColumn = (name: string): boolean =>
  ['status.unsubscribed', 'status.optedOut', 'unsubscribedAt'].includes(findConsentColumn(name) ?? '')

/** Parts of names in the languages of Rapport. Yes in such a column means that the person wants no emails. */
const negative = toWords(`
    unsub optout optedout optingout deactivat deaktiv desactiv disattiv emaildisabled mailsdisabled donot dnc dnd nomail noemail nonewsletter never blacklist blocklist denylist
    blocked suppress notsubscribed unreachable withdrawn revoked abgemeldet abmeld abbestell ausgetragen austrag
    widerruf widerspr gesperrt werbesperr keinemail keinewerbung keinnewsletter nichtkontakt nichtanschreiben
    desabonn desinscri opposition nepascontacter nepasenvoyer refus listenoire baja desuscri nocontactar
    noenviar rechaz revocad listanegra disiscri cancellat noncontattare revocat listanera descadastr desinscrit
    cancelou naocontatar naocontactar naoenviar revogad cancel enddate endedat endedon expir declin denied kundig`)
const bounces = ['bounce', 'undeliverable', 'hardfail', 'unzustellbar', 'rebot', 'rimbalz', 'rejeit']
const complaints = ['complain', 'complaint', 'spamreport', 'markedasspam', 'abuse', 'beschwerde', 'plainte', 'denuncia']
/** Yes in such a column means that the person subscribed or agreed. */
const positive = toWords(`
    subscrib subscription optin optedin consent permission newsletter mailinglist marketing gdpr emailable
    mailable emailallowed allowemail receiveemail wantsemail contactable angemeldet abonn einwillig zustimm
    werbeerlaubnis dsgvo consentement inscrit rgpd suscri consentimiento acepta iscritt consenso accetta
    inscrito consentimento aceita lgpd`)

const hasAny = (name: string, parts: readonly string[]) => parts.some((part) => name.includes(part))

/** Whole names that say whom the other system mails, or something else, such as whether a customer is active. */
const ofState = toWords('active isactive aktiv actif activo attivo ativo enabled isenabled disabled isdisabled')

/** Whether the name speaks of consent, opt-in or opt-out. */
export function speaksOfConsentByName(name: string): boolean {
  const plain = toLetters(name)
  return (
    columnsByName.has(plain) ||
    ofState.includes(plain) ||
    [negative, bounces, complaints, positive].some((parts) => hasAny(plain, parts))
  )
}

/** How a column is read that the caller maps to `status`: what yes means depends on its name. */
export function toStatusColumn(name: string): string {
  const plain = toLetters(name)
  const known = columnsByName.get(plain)
  if (known !== undefined && known !== 'unsubscribedAt') return known
  if (hasAny(plain, complaints)) return 'status.complained'
  if (hasAny(plain, bounces)) return 'status.bounced'
  if (hasAny(plain, [...negative, 'disabled']))
    return plain.includes('unsub') && !plain.includes('all') ? 'status.unsubscribed' : 'status.optedOut'
  return hasAny(plain, ['consent', 'optin', 'optedin', 'permission', 'einwillig', 'zustimm'])
    ? 'status.consent'
    : 'status'
}

type Ignored = NonNullable<Layout['ignored']>

/** Throws `validation_error` for a column that says who wants emails: it is never left out as an unknown one. */
export function requireNoConsent(ignored: Ignored): void {
  const found = ignored.find(({ name }) => speaksOfConsentByName(name))
  if (found) throw consentLeftOut(found.name)
}

/** The same for its values: returns a check of a row, or undefined if no column is left out. */
export function createIgnoredCheck(layout: Layout | null): ((row: FileRow<unknown>) => void) | undefined {
  const { ignored = [] } = layout ?? {}
  if (ignored.length === 0) return undefined
  return (row) => {
    if ('error' in row) return
    const cells = row.content as string[]
    // In the order of the columns: a short row costs no more than its cells.
    for (const { position, name } of ignored) {
      if (position >= cells.length) return
      if (speaksOfConsent(readCell(cells[position] ?? ''))) throw consentLeftOut(name, { line: row.line })
    }
  }
}

function consentLeftOut(name: string, details?: { line: number }): AppError {
  const shown = toPrintable(name)
  return new AppError(
    'validation_error',
    `The column "${shown}" says who wants emails, so unknownColumns=ignore does not leave it out: send columns={"${shown}":"status"}, or {"${shown}":null} if it is about something else`,
    { issues: [{ path: 'columns', message: `must say what the column "${shown}" is` }], ...(details && { details }) },
  )
}
