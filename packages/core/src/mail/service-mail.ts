import type { Ctx } from '../request/context.ts'
import { type MailContent, renderMailLayout } from './mail-layout.ts'
import type { Mail } from './mails.ts'
import { feedbackId, mailDomain, type OutgoingMail, toHeaderText } from './outgoing-mail.ts'

type Sender = Pick<OutgoingMail, 'from' | 'dkim'>

/** Renders a single mail. Marked as generated automatically (RFC 3834). The default sender is `MAIL_FROM`. */
export function renderServiceMail(
  ctx: Ctx,
  { id, kind, toAddress }: Mail,
  { from = { name: '', address: ctx.settings.mailFrom }, dkim, ...content }: MailContent & Partial<Sender>,
): OutgoingMail {
  return {
    from,
    ...(dkim && { dkim }),
    to: { name: '', address: toAddress },
    subject: toHeaderText(content.title),
    messageId: `<${id}@${mailDomain(from.address)}>`,
    headers: {
      'Auto-Submitted': 'auto-generated',
      'Content-Language': content.language.locale,
      ...feedbackId(ctx, kind),
    },
    ...renderMailLayout(content),
  }
}
