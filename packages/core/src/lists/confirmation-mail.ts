import { and, eq } from 'drizzle-orm'
import type { Ctx } from '../request/context.ts'
import { renderServiceMail } from '../mail/service-mail.ts'
import type { Mail } from '../mail/mails.ts'
import type { OutgoingMail } from '../mail/outgoing-mail.ts'
import { toMailName } from '../mail/mail-names.ts'
import { readWorkspaceSender } from '../domains/sender-identity.ts'
import { chooseMailLanguage } from '../kernel/values/languages.ts'
import { mailTexts } from '../mail/texts/mail-texts.ts'
import { contacts, lists, subscriptions, workspaces } from '../db/schema/index.ts'
import { bySubscription } from '../consent/subscription-record.ts'
import { describeTracking } from '../consent/tracking/tracking-mail.ts'
import { confirmationUrl } from './subscription-links.ts'

/** Renders the confirmation email. Returns undefined if the subscription no longer exists. */
export async function renderConfirmationMail(ctx: Ctx, mail: Mail): Promise<OutgoingMail | undefined> {
  const { listId, contactId, tracking = [], locale: request = null } = mail.data
  if (!listId || !contactId) return undefined
  const [found] = await ctx.db
    .select({ list: lists.name, listLocale: lists.locale, contactLocale: contacts.locale, workspace: workspaces })
    .from(subscriptions)
    .innerJoin(lists, and(eq(lists.workspaceId, subscriptions.workspaceId), eq(lists.id, subscriptions.listId)))
    .innerJoin(
      contacts,
      and(eq(contacts.workspaceId, subscriptions.workspaceId), eq(contacts.id, subscriptions.contactId)),
    )
    .innerJoin(workspaces, eq(workspaces.id, subscriptions.workspaceId))
    .where(bySubscription(ctx, { listId, contactId }))
  if (!found) return undefined
  const sender = await readWorkspaceSender(ctx, found.workspace)
  const list = toMailName(found.list)
  const { contactLocale: contact, listLocale: content } = found
  const language = chooseMailLanguage({ contact, request, content, workspace: found.workspace.locale })
  const texts = mailTexts[language.language].confirmation
  // The page of the link asks for both, each by itself.
  const describeGrant = () => {
    if (tracking.length === 0) return []
    return [texts.tracking(sender.name, describeTracking(language, tracking))]
  }
  return renderServiceMail(ctx, mail, {
    language,
    ...sender.header,
    branding: found.workspace,
    title: texts.title(list),
    paragraphs: [texts.text(sender.name, list, mail.toAddress), ...describeGrant()],
    // Derived from the creation time of the mail, so that a duplicate contains the same link.
    button: {
      label: texts.button,
      url: confirmationUrl(ctx, { listId, contactId, email: mail.toAddress, issuedAt: mail.createdAt, tracking }),
    },
    small: texts.small,
  })
}
