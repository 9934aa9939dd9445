import { renderVerificationMail } from '../../auth/email-verification.ts'
import { renderPasswordResetMail } from '../../auth/password-resets.ts'
import { renderTestMail } from '../../campaigns/campaign-mail.ts'
import type { Ctx } from '../../request/context.ts'
import { renderConfirmationMail } from '../../lists/confirmation-mail.ts'
import { renderInviteMail } from '../../team/invites.ts'
import type { Mail, MailKind } from '../../mail/mails.ts'
import type { OutgoingMail } from '../../mail/outgoing-mail.ts'
import { renderWebhookDisabledMail, renderWebhookFailingMail } from '../../webhooks/health/webhook-mails.ts'

/**
 * Renders a single mail, or returns undefined if it is no longer needed. A kind without a renderer does not compile.
 */
const renderers: Record<MailKind, (ctx: Ctx, mail: Mail) => Promise<OutgoingMail | undefined>> = {
  CONFIRMATION: renderConfirmationMail,
  CAMPAIGN_TEST: renderTestMail,
  INVITE: renderInviteMail,
  PASSWORD_RESET: renderPasswordResetMail,
  EMAIL_VERIFICATION: renderVerificationMail,
  WEBHOOK_FAILING: renderWebhookFailingMail,
  WEBHOOK_DISABLED: renderWebhookDisabledMail,
}

export function renderMail(ctx: Ctx, mail: Mail): Promise<OutgoingMail | undefined> {
  return renderers[mail.kind](ctx, mail)
}
