import { and, eq } from 'drizzle-orm'
import { readContact } from '../contacts/contacts.ts'
import type { Contact } from '../contacts/contacts.schema.ts'
import type { Ctx } from '../context.ts'
import { AppError } from '../errors.ts'
import { unsubscribeUrl } from '../lists/links.ts'
import type { Mail } from '../mail/mails.ts'
import { headerText, mailDomain, type OutgoingMail } from '../mail/outgoing-mail.ts'
import { senderAddress } from '../mail/senders.ts'
import { campaigns, lists, workspaces } from '../schema.ts'
import type { Preview, PreviewInput } from './campaigns.schema.ts'
import { findNamedContact, readCampaign } from './campaigns.ts'
import { compileTemplates } from './templates.ts'
import { trackHtml } from './tracking.ts'

/** What a template may say of a person. */
export type Recipient = Pick<
  Contact,
  'id' | 'email' | 'firstName' | 'lastName' | 'phone' | 'company' | 'customFieldValues' | 'tags'
>

/**
 * Loads a campaign with its list and workspace and parses its templates once. The renderer makes one recipient's mail,
 * and throws when the template exceeds its limits for them. A `copy` that somebody looks at is tracked by nothing.
 */
export async function compileCampaign(
  ctx: Ctx,
  campaignId: string,
  kind: 'mail' | 'copy' = 'mail',
): Promise<(to: Recipient) => OutgoingMail> {
  const [found] = await ctx.db
    .select({ campaign: campaigns, list: lists, workspace: workspaces })
    .from(campaigns)
    .innerJoin(lists, and(eq(lists.workspaceId, campaigns.workspaceId), eq(lists.id, campaigns.listId)))
    .innerJoin(workspaces, eq(workspaces.id, campaigns.workspaceId))
    .where(and(eq(campaigns.workspaceId, ctx.workspaceId), eq(campaigns.id, campaignId)))
  if (!found) throw new Error(`There is no campaign ${campaignId}`)
  const { campaign, list, workspace } = found
  const render = compileTemplates(campaign)
  const domain = mailDomain(ctx.settings.mailFrom)
  const from = {
    name: headerText(campaign.fromName ?? workspace.fromName ?? workspace.name),
    address: senderAddress(ctx.settings, [campaign.fromEmail, workspace.fromEmail]),
  }
  const opens = campaign.trackOpens && kind === 'mail'
  const clicks = campaign.trackClicks && kind === 'mail'
  return (to) => {
    const person = { campaignId: campaign.id, contactId: to.id }
    const mailed = kind === 'mail' ? { ...person, email: to.email } : { contactId: to.id }
    const unsubscribe = unsubscribeUrl(ctx, { listId: list.id, ...mailed })
    const parts = render({
      contact: { ...to.customFieldValues, ...to },
      campaign: { id: campaign.id, name: campaign.name },
      list: { id: list.id, name: list.name },
      workspace: { name: workspace.name, postalAddress: workspace.postalAddress },
      unsubscribeUrl: unsubscribe,
    })
    return {
      from,
      to: { name: headerText(`${to.firstName} ${to.lastName}`), address: to.email },
      ...(campaign.replyTo && { replyTo: campaign.replyTo }),
      ...parts,
      ...(parts.html !== undefined &&
        (opens || clicks) && { html: trackHtml(ctx, parts.html, { person, opens, clicks }) }),
      subject: headerText(parts.subject),
      // Stable, so that a copy, whoever makes it, is known to be one.
      messageId: `<${campaign.id}.${to.id}@${domain}>`,
      headers: {
        'List-Id': `<${list.id}.${domain}>`,
        'List-Unsubscribe': `<${unsubscribe}>`,
        'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      },
    }
  }
}

/** The test copy that somebody asked for: as the named contact would get it, or an invented one. */
export async function renderTestMail(ctx: Ctx, mail: Mail): Promise<OutgoingMail | undefined> {
  const { campaignId, contactId } = mail.data
  if (!campaignId) return undefined
  const render = await compileCampaign(ctx, campaignId, 'copy')
  const recipient = contactId ? await readContact(ctx, contactId) : inventedRecipient
  const copy = render(recipient)
  return {
    ...copy,
    to: { name: '', address: mail.toAddress },
    subject: `[Test] ${copy.subject}`,
    messageId: `<${mail.id}@${mailDomain(ctx.settings.mailFrom)}>`,
  }
}

/** What a contact, or an invented one, would get: nothing is sent. A template that exceeds its limits is invalid. */
export async function previewCampaign(ctx: Ctx, campaignId: string, { contactId }: PreviewInput): Promise<Preview> {
  await readCampaign(ctx, campaignId)
  const render = await compileCampaign(ctx, campaignId, 'copy')
  const recipient = contactId ? await findNamedContact(ctx, contactId) : inventedRecipient
  try {
    const { subject, html, text } = render(recipient)
    return { subject, html: html ?? null, text }
  } catch (error) {
    const [reason = ''] = error instanceof Error ? error.message.split('\n') : []
    throw new AppError('invalid', `The template cannot be rendered: ${reason}`)
  }
}

/** No contact of any workspace has the nil UUID, so that the unsubscribe link of a test copy does nothing. */
const inventedRecipient: Recipient = {
  id: 'con_00000000000000000000000000',
  email: 'ada@example.com',
  firstName: 'Ada',
  lastName: 'Lovelace',
  phone: null,
  company: 'Analytical Engines',
  customFieldValues: {},
  tags: [],
}
