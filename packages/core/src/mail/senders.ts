import type { Settings } from '../request/context.ts'
import { invalidField } from '../kernel/errors.ts'
import { mailDomain } from './outgoing-mail.ts'

/** `MAIL_FROM_DOMAINS` restricts the sender domains. If it is empty, every sender is allowed. */
function isAllowedSender({ mailFromDomains }: Settings, email: string): boolean {
  return mailFromDomains.length === 0 || mailFromDomains.includes(mailDomain(email).toLowerCase())
}

/**
 * Throws `validation_error` if `fromEmail` is not an allowed sender. Without a `fromEmail`, mail is sent from
 * `MAIL_FROM`.
 */
export function checkSender({ settings }: { settings: Settings }, email: string | null | undefined): void {
  if (!email || isAllowedSender(settings, email)) return
  throw invalidField('fromEmail', `fromEmail: must be an address at ${settings.mailFromDomains.join(' or ')}`)
}

/** Returns the first address that is an allowed sender, or `MAIL_FROM`. */
export function senderAddress(settings: Settings, emails: readonly (string | null)[]): string {
  return emails.find((email) => email !== null && isAllowedSender(settings, email)) ?? settings.mailFrom
}
