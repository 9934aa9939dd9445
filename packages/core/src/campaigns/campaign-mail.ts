import { and, eq } from 'drizzle-orm'
import { type Ctx, inTransaction } from '../request/context.ts'
import { AppError, conflict } from '../kernel/errors.ts'
import { type CampaignId, idOf } from '../kernel/ids.ts'
import { unsubscribeUrl } from '../lists/subscription-links.ts'
import { lockList } from '../lists/lists.ts'
import { enqueueMail, type Mail } from '../mail/mails.ts'
import { type EncodedMail, headerText, mailDomain, type MailHeader, type OutgoingMail } from '../mail/outgoing-mail.ts'
import { senderAddress } from '../mail/senders.ts'
import { campaigns, lists, workspaces } from '../db/schema/index.ts'
import type { Preview, PreviewInput, SendResult, SendTestInput } from './campaigns.schema.ts'
import { findNamedContact, readCampaign } from './campaigns.ts'
import { type Recipient, toRecipient } from './recipient.ts'
import { renderCopy, renderMails } from './templates/rendering.ts'
import type { TemplateFault } from './templates/template-sources.ts'
import { trackingOf } from './tracking.ts'
import { contactExample } from '../contacts/contacts.schema.ts'
import { readContact } from '../contacts/read-contact.ts'

/** A mail, or what is wrong with it. */
export type CampaignMail = { mail: EncodedMail | OutgoingMail } | { fault: TemplateFault }

export interface CampaignRenderer {
  /** Makes the mails of a group of recipients, in order. */
  render: (recipients: readonly Recipient[]) => Promise<CampaignMail[]>
  /** Of so long a letter so many are to be held at a time. */
  maxGroupSize: number
}

const groupCharacters = 1_000_000

/** Loads a campaign with its list and workspace. Its renderer says what is wrong where the templates exceed their limits. */
export async function loadCampaignRenderer(ctx: Ctx, campaignId: CampaignId): Promise<CampaignRenderer> {
  const { sources, address } = await loadCampaign(ctx, campaignId, 'mail')
  return {
    maxGroupSize: Math.ceil(groupCharacters / Object.values(sources).join('').length),
    async render(recipients) {
      const addressed = recipients.map(address)
      const rendered = await renderMails(ctx.workspaceId, { sources, recipients: addressed.map(({ given }) => given) })
      return addressed.map(({ headerOf }, index) => {
        const made = rendered[index]
        if (!made) throw new Error('Somebody has no mail')
        return 'fault' in made ? made : { mail: { ...made, ...headerOf(made.subject) } }
      })
    },
  }
}

/** A `copy` that somebody looks at is tracked by nothing. */
async function loadCampaign(ctx: Ctx, campaignId: CampaignId, kind: 'mail' | 'copy') {
  const [found] = await ctx.db
    .select({ campaign: campaigns, list: lists, workspace: workspaces })
    .from(campaigns)
    .innerJoin(lists, and(eq(lists.workspaceId, campaigns.workspaceId), eq(lists.id, campaigns.listId)))
    .innerJoin(workspaces, eq(workspaces.id, campaigns.workspaceId))
    .where(and(eq(campaigns.workspaceId, ctx.workspaceId), eq(campaigns.id, campaignId)))
  if (!found) throw listDeleted()
  const { campaign, list, workspace } = found
  const { subject, html, text } = campaign
  const opens = campaign.trackOpens && kind === 'mail'
  const clicks = campaign.trackClicks && kind === 'mail'
  const common = {
    campaign: { id: campaign.id, name: campaign.name },
    list: { id: list.id, name: list.name },
    workspace: { name: workspace.name, postalAddress: workspace.postalAddress },
  }
  const domain = mailDomain(ctx.settings.mailFrom)
  const from = {
    name: headerText(campaign.fromName ?? workspace.fromName ?? workspace.name),
    address: senderAddress(ctx.settings, [campaign.fromEmail, workspace.fromEmail]),
  }
  return { sources: { subject, html, text }, address }

  /** What a template is rendered with for a recipient, and the header of the mail that comes of it. */
  function address(to: Recipient) {
    const person = { campaignId: campaign.id, contactId: to.id }
    const mailed = kind === 'mail' ? { ...person, email: to.email } : { contactId: to.id }
    const unsubscribe = unsubscribeUrl(ctx, { listId: list.id, ...mailed })
    const headerOf = (subject: string): MailHeader => ({
      from,
      to: { name: headerText(`${to.firstName} ${to.lastName}`), address: to.email },
      ...(campaign.replyTo && { replyTo: campaign.replyTo }),
      subject: headerText(subject),
      // Stable, so that a copy, whoever makes it, is known to be one.
      messageId: `<${campaign.id}.${to.id}@${domain}>`,
      headers: {
        'List-Id': `<${list.id}.${domain}>`,
        'List-Unsubscribe': `<${unsubscribe}>`,
        'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      },
    })
    const given = {
      values: { ...common, contact: { ...to.customFieldValues, ...to }, unsubscribeUrl: unsubscribe },
      tracking: opens || clicks ? trackingOf(ctx, { person, opens, clicks }) : undefined,
    }
    return { given, headerOf }
  }
}

/** The test copy that somebody asked for: as the named contact would get it, or an invented one. */
export async function renderTestMail(ctx: Ctx, mail: Mail): Promise<OutgoingMail | undefined> {
  const { campaignId, contactId } = mail.data
  if (!campaignId) return undefined
  const copy = await makeCopy(ctx, campaignId, async () =>
    contactId ? await readContact(ctx, contactId) : inventedRecipient,
  )
  return {
    ...copy,
    to: { name: '', address: mail.toAddress },
    subject: `[Test] ${copy.subject}`,
    messageId: `<${mail.id}@${mailDomain(ctx.settings.mailFrom)}>`,
  }
}

/** What a contact, or an invented one, would get: nothing is sent. A template that exceeds its limits is invalid. */
export async function previewCampaign(ctx: Ctx, campaignId: CampaignId, { contactId }: PreviewInput): Promise<Preview> {
  await readCampaign(ctx, campaignId)
  const { subject, html, text } = await makeCopy(ctx, campaignId, async () =>
    contactId ? await findNamedContact(ctx, contactId) : inventedRecipient,
  )
  return { subject, html: html ?? null, text }
}

/**
 * Mails one test copy, whatever the campaign's status. With `contactId`, as that contact would get it. A template that
 * exceeds its limits is invalid.
 */
export async function sendTestMail(ctx: Ctx, id: CampaignId, { email, contactId }: SendTestInput): Promise<SendResult> {
  // Not in the transaction, which would wait for it.
  await previewCampaign(ctx, id, { contactId })
  return inTransaction(ctx, async (ctx) => {
    const { listId } = await readCampaign(ctx, id)
    if (listId === null || !(await lockList(ctx, listId))) throw listDeleted()
    await enqueueMail(ctx, {
      kind: 'CAMPAIGN_TEST',
      to: email,
      data: { campaignId: id, contactId: contactId ?? null },
    })
    return { queued: 1 }
  })
}

async function makeCopy(ctx: Ctx, id: CampaignId, findRecipient: () => Promise<Recipient>): Promise<OutgoingMail> {
  const { sources, address } = await loadCampaign(ctx, id, 'copy')
  const { given, headerOf } = address(await findRecipient())
  const made = await renderCopy(ctx.workspaceId, { sources, recipient: given })
  if ('fault' in made) {
    const { field, message } = made.fault
    const sentence = `The template cannot be rendered: ${message}`
    throw new AppError('invalid', sentence, { issues: [{ path: field, message: sentence }] })
  }
  return { ...made, ...headerOf(made.subject) }
}

const listDeleted = () => conflict('The list of this campaign was deleted')

/** No contact of any workspace has the nil UUID, so that the unsubscribe link of a test copy does nothing. */
const inventedRecipient: Recipient = {
  ...toRecipient(contactExample),
  id: idOf('con', '00000000-0000-0000-0000-000000000000'),
  company: 'Analytical Engines',
}
