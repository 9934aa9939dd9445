import { eq } from 'drizzle-orm'
import { findContactLocale } from '../../mail/find-contact-locale.ts'
import { workspaces } from '../../db/schema/index.ts'
import { readWorkspaceSender } from '../../domains/sender-identity.ts'
import { type ChosenLanguage, chooseMailLanguage } from '../../kernel/values/languages.ts'
import type { Mail } from '../../mail/mails.ts'
import type { OutgoingMail } from '../../mail/outgoing-mail.ts'
import { mailTexts } from '../../mail/texts/mail-texts.ts'
import { renderServiceMail } from '../../mail/service-mail.ts'
import type { Ctx } from '../../request/context.ts'
import { findRequest } from './change-tracking.ts'
import { findTrackingState } from './tracking-consents.ts'
import type { TrackedAction } from './tracking-level.ts'
import { trackingConfirmationUrl } from './tracking-links.ts'

/** Renders the email that asks a contact to confirm a grant. Returns undefined if the request no longer exists. */
export async function renderTrackingMail(ctx: Ctx, mail: Mail): Promise<OutgoingMail | undefined> {
  const { contactId, tracking: scope, locale: request = null } = mail.data
  if (!contactId || !scope) return undefined
  const open = findRequest((await findTrackingState(ctx, contactId)) ?? { proofs: [] })
  const [workspace] = await ctx.db.select().from(workspaces).where(eq(workspaces.id, ctx.workspaceId))
  if (!open || !workspace) return undefined
  const sender = await readWorkspaceSender(ctx, workspace)
  const contact = await findContactLocale(ctx, { workspaceId: ctx.workspaceId, contactId })
  const language = chooseMailLanguage({ contact, request, workspace: workspace.locale })
  const texts = mailTexts[language.language].tracking
  return renderServiceMail(ctx, mail, {
    language,
    ...sender.header,
    branding: workspace,
    title: texts.title(sender.name),
    paragraphs: [texts.text(sender.name, describeTracking(language, scope))],
    // Derived from the creation time of the mail, so that a duplicate contains the same link.
    button: {
      label: texts.button,
      url: trackingConfirmationUrl(ctx, { contactId, email: mail.toAddress, issuedAt: mail.createdAt, scope }),
    },
    small: texts.small,
  })
}

/** What a grant lets be recorded, as an email says it. */
export function describeTracking(
  { language }: Pick<ChosenLanguage, 'language'>,
  scope: readonly TrackedAction[],
): string {
  const { tracking: texts } = mailTexts[language]
  const [action = 'opens', other] = scope
  return other ? texts.opensAndClicks : texts[action]
}
