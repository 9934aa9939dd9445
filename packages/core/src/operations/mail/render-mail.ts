import { renderVerificationMail } from '../../auth/email-verification.ts'
import { renderPasswordResetMail } from '../../auth/password-resets.ts'
import { renderTestMail } from '../../campaigns/campaign-mail.ts'
import type { Ctx } from '../../request/context.ts'
import { renderConfirmationMail } from '../../lists/confirmation-mail.ts'
import { renderInviteMail } from '../../team/invites.ts'
import { renderPausedMail } from '../../emails/templates/paused-mail.ts'
import { withPagesUrl } from '../../domains/hosts/pages-url.ts'
import { returnPathOf } from '../../domains/return-path.ts'
import { createReturnPath } from '../../mail/bounces/recipient-token.ts'
import { renderTrackingMail } from '../../consent/tracking/tracking-mail.ts'
import { renderWithheldMail } from '../../mail/budget/withheld-mail.ts'
import type { Mail, MailKind } from '../../mail/mails.ts'
import { mailDomain, type OutgoingMail } from '../../mail/outgoing-mail.ts'
import { renderPersonalDataMail } from '../preferences/personal-data-mail.ts'
import { renderWebhookDisabledMail, renderWebhookFailingMail } from '../../webhooks/health/webhook-mails.ts'

/**
 * Renders a single mail, or returns undefined if it is no longer needed. A kind without a renderer does not compile.
 */
const renderers: Record<MailKind, (ctx: Ctx, mail: Mail) => Promise<OutgoingMail | undefined>> = {
  CONFIRMATION: renderConfirmationMail,
  TRACKING_CONSENT: renderTrackingMail,
  PERSONAL_DATA: renderPersonalDataMail,
  CAMPAIGN_TEST: renderTestMail,
  INVITE: renderInviteMail,
  PASSWORD_RESET: renderPasswordResetMail,
  EMAIL_VERIFICATION: renderVerificationMail,
  WEBHOOK_FAILING: renderWebhookFailingMail,
  WEBHOOK_DISABLED: renderWebhookDisabledMail,
  CONFIRMATIONS_WITHHELD: renderWithheldMail,
  TEMPLATE_PAUSED: renderPausedMail,
}

export async function renderMail(ctx: Ctx, mail: Mail): Promise<OutgoingMail | undefined> {
  const rendered = await renderers[mail.kind](await withPagesUrl(ctx), mail)
  const host = rendered && (await returnPathOf(ctx, mailDomain(rendered.from.address)))
  if (!rendered || host === undefined) return rendered
  const { toAddress: email, id: mailId } = mail
  return { ...rendered, returnPath: createReturnPath(ctx, { host, subject: { mailId }, email }) }
}
