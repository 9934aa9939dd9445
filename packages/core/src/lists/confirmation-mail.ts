import { and, eq } from 'drizzle-orm'
import type { Ctx } from '../request/context.ts'
import { renderServiceMail } from '../mail/service-mail.ts'
import type { Mail } from '../mail/mails.ts'
import { toHeaderText, type OutgoingMail } from '../mail/outgoing-mail.ts'
import { toMailName } from '../mail/mail-names.ts'
import { readSenderIdentity } from '../domains/sender-identity.ts'
import { senderAddress } from '../domains/senders.ts'
import { lists, subscriptions, workspaces } from '../db/schema/index.ts'
import { confirmationUrl } from './subscription-links.ts'

/** Renders the confirmation email. Returns undefined if the subscription no longer exists. */
export async function renderConfirmationMail(ctx: Ctx, mail: Mail): Promise<OutgoingMail | undefined> {
  const { listId, contactId } = mail.data
  if (!listId || !contactId) return undefined
  const [found] = await ctx.db
    .select({ list: lists.name, workspace: workspaces })
    .from(subscriptions)
    .innerJoin(lists, and(eq(lists.workspaceId, subscriptions.workspaceId), eq(lists.id, subscriptions.listId)))
    .innerJoin(workspaces, eq(workspaces.id, subscriptions.workspaceId))
    .where(
      and(
        eq(subscriptions.workspaceId, ctx.workspaceId),
        eq(subscriptions.listId, listId),
        eq(subscriptions.contactId, contactId),
      ),
    )
  if (!found) return undefined
  const sender = toMailName(found.workspace.fromName ?? found.workspace.name)
  const list = toMailName(found.list)
  const address = await senderAddress(ctx, [found.workspace.fromEmail])
  const { dkim } = await readSenderIdentity(ctx, address)
  return renderServiceMail(ctx, mail, {
    from: { name: toHeaderText(sender), address },
    ...(dkim && { dkim }),
    title: `Confirm your subscription to ${list}`,
    paragraphs: [`Please confirm that ${sender} may send “${list}” to ${mail.toAddress}.`],
    // Derived from the creation time of the mail, so that a duplicate contains the same link.
    button: {
      label: 'Confirm subscription',
      url: confirmationUrl(ctx, { listId, contactId, email: mail.toAddress, issuedAt: mail.createdAt }),
    },
    small:
      'This link expires in seven days. If you did not request this, ignore this email and you will not be subscribed.',
  })
}
