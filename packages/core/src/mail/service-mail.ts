import type { Ctx } from '../request/context.ts'
import { type MailContent, renderMailLayout } from './mail-layout.ts'
import type { Mail } from './mails.ts'
import { toHeaderText, mailDomain, type OutgoingMail } from './outgoing-mail.ts'

/** Renders a transactional mail. Marked as generated automatically (RFC 3834). The default sender is `MAIL_FROM`. */
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
