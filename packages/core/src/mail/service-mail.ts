import type { Ctx } from '../request/context.ts'
import { type MailContent, renderMailLayout } from './mail-layout.ts'
import type { Mail } from './mails.ts'
import { toHeaderText, mailDomain, type OutgoingMail } from './outgoing-mail.ts'

/** A mail that somebody asked for by what they did, as a program writes it (RFC 3834). By the installation unless `from` is given. */
export function renderServiceMail(
  { settings }: Ctx,
  { id, toAddress }: Mail,
  { from, ...content }: MailContent & { from?: OutgoingMail['from'] },
): OutgoingMail {
  return {
    from: from ?? { name: '', address: settings.mailFrom },
    to: { name: '', address: toAddress },
    subject: toHeaderText(content.title),
    messageId: `<${id}@${mailDomain(settings.mailFrom)}>`,
    headers: { 'Auto-Submitted': 'auto-generated' },
    ...renderMailLayout(content),
  }
}
