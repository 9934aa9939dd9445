import type { Settings } from '../request/context.ts'
import { invalidField } from '../kernel/errors.ts'
import { mailDomain } from './outgoing-mail.ts'

/** Whether mail may come from this address: the operator may name the domains that it may come from. */
function isAllowedSender({ mailFromDomains }: Settings, email: string): boolean {
  return mailFromDomains.length === 0 || mailFromDomains.includes(mailDomain(email).toLowerCase())
}

/** Refuses a `fromEmail` that mail may not come from. None is fine: it is the operator's own then. */
export function checkSender({ settings }: { settings: Settings }, email: string | null | undefined): void {
  if (!email || isAllowedSender(settings, email)) return
  throw invalidField('fromEmail', `fromEmail: must be an address at ${settings.mailFromDomains.join(' or ')}`)
}

/** The first of the addresses that mail may come from by now, or else the operator's own. */
export function senderAddress(settings: Settings, emails: readonly (string | null)[]): string {
  return emails.find((email) => email !== null && isAllowedSender(settings, email)) ?? settings.mailFrom
}
