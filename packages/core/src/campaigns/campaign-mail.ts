import { and, eq } from 'drizzle-orm'
import { type Ctx, inTransaction } from '../request/context.ts'
import { notFound } from '../kernel/errors.ts'
import type { CampaignId } from '../kernel/ids.ts'
import { chooseMailLanguage } from '../kernel/values/languages.ts'
import { testUnsubscribeUrl, unsubscribeUrl } from '../lists/subscription-links.ts'
import { lockList } from '../lists/lists.ts'
import { withPagesUrl } from '../domains/hosts/pages-url.ts'
import { readSenderIdentity, senderOf } from '../domains/sender-identity.ts'
import { findSenderError, requireSender } from '../domains/senders.ts'
import { requireMailQuota } from '../mail/mail-quotas.ts'
import { requireNotSuppressed } from '../consent/consent-records.ts'
import { preferencesUrl, testPreferencesUrl } from '../consent/preferences-links.ts'
import { requireVerifiedOwner } from '../mail/verified-owner.ts'
import { returnPathOf } from '../domains/return-path.ts'
import { createReturnPath } from '../mail/bounces/recipient-token.ts'
import { enqueueMail, type Mail } from '../mail/mails.ts'
import {
  type EncodedMail,
  feedbackId,
  toHeaderText,
  mailDomain,
  type MailHeader,
  type OutgoingMail,
} from '../mail/outgoing-mail.ts'
import { campaigns, lists, workspaces } from '../db/schema/index.ts'
import type { Preview, PreviewInput, SendResult, SendTestInput } from './campaigns.schema.ts'
import { createListDeletedError, readCampaignSummary } from './campaigns.ts'
import { noTracking, type TrackingLevels } from '../consent/tracking/tracking-level.ts'
import { createTracking } from './tracking.ts'
import { webVersionUrl } from './web-version.ts'
import { findReferencedContact, readContact } from '../contacts/read-contact.ts'
import { createExampleRecipient } from '../rendering/example-recipient.ts'
import { type Recipient, toRecipient } from '../rendering/recipient.ts'
import { createRenderingError, renderPreview, renderMails } from '../rendering/rendering.ts'
import type { TemplateFault } from '../rendering/template-sources.ts'
import { readWorkspace } from '../workspaces/workspaces.ts'

/** The rendered mail of a recipient, or the fault in the template. */
export type CampaignMail = { mail: EncodedMail | OutgoingMail } | { fault: TemplateFault }

export interface CampaignRenderer {
  /** Renders the mails of a group of recipients, in the order of the recipients. Without levels, a mail tracks nothing. */
  render: (recipients: readonly (Recipient & { tracking?: TrackingLevels })[]) => Promise<CampaignMail[]>
  /** The maximum number of recipients per call. Long templates get a lower maximum, so that the mails fit in memory. */
  maxGroupSize: number
  /** Why the workspace may not send from the address of the campaign any more. The mails are from another one then. */
  senderProblem: string | undefined
}

const maxGroupCharacters = 1_000_000

/** Loads a campaign with its list and workspace. `render` returns a fault for a template that exceeds its limits. */
export async function loadCampaignRenderer(ctx: Ctx, campaignId: CampaignId): Promise<CampaignRenderer> {
  const { sources, prepareMail, senderProblem } = await loadCampaign(ctx, campaignId, 'mail')
  return {
    maxGroupSize: Math.ceil(maxGroupCharacters / Object.values(sources).join('').length),
    senderProblem,
    async render(recipients) {
      const prepared = recipients.map(prepareMail)
      const inputs = prepared.map(({ templateInput }) => templateInput)
      const rendered = await renderMails(
        ctx.workspaceId,
        { sources, recipients: inputs },
        ctx.settings.renderingDeadlines,
      )
      return prepared.map(({ createHeader }, index) => {
        const result = rendered[index]
        if (!result) throw new Error('renderMails returned fewer results than recipients')
        return 'fault' in result ? result : { mail: { ...result, ...createHeader(result.subject) } }
      })
    },
  }
}

/**
 * `kind` is `mail` for the mail of a recipient, and `preview` for a preview or a test mail. A preview has no tracking
 * pixel and no tracked links, and its links to unsubscribe and to the preferences do nothing.
 */
async function loadCampaign(plain: Ctx, campaignId: CampaignId, kind: 'mail' | 'preview') {
  const ctx = await withPagesUrl(plain)
  const [found] = await ctx.db
    .select({ campaign: campaigns, list: lists, workspace: workspaces })
    .from(campaigns)
    .leftJoin(lists, and(eq(lists.workspaceId, campaigns.workspaceId), eq(lists.id, campaigns.listId)))
    .innerJoin(workspaces, eq(workspaces.id, campaigns.workspaceId))
    .where(and(eq(campaigns.workspaceId, ctx.workspaceId), eq(campaigns.id, campaignId)))
  if (!found) throw notFound('Campaign')
  const { campaign, workspace } = found
  if (!found.list) throw createListDeletedError()
  const { list } = found
  const { subject, html, text } = campaign
  const sharedValues = {
    campaign: { id: campaign.id, name: campaign.name },
    list: { id: list.id, name: list.name },
    workspace: { name: workspace.name, postalAddress: workspace.postalAddress },
  }
  const refusal = kind === 'mail' ? await findSenderError(ctx, campaign.fromEmail ?? workspace.fromEmail) : undefined
  const sender = await senderOf(ctx, campaign, workspace)
  const from = { ...sender, name: toHeaderText(sender.name) }
  const returnPathHost = kind === 'mail' ? await returnPathOf(ctx, mailDomain(sender.address)) : undefined
  const { domain, dkim } = await readSenderIdentity(ctx, sender.address)
  return { sources: { subject, html, text }, prepareMail, senderProblem: refusal?.message }

  /** Prepares the template input and the header of one recipient. The header needs the rendered subject. */
  function prepareMail({ tracking = noTracking, ...to }: Recipient & { tracking?: TrackingLevels }) {
    const recipient = { campaignId: campaign.id, contactId: to.id }
    const unsubscribe =
      kind === 'mail'
        ? unsubscribeUrl(ctx, { listId: list.id, ...recipient, email: to.email })
        : testUnsubscribeUrl(ctx, list.id)
    const preferences =
      kind === 'mail' ? preferencesUrl(ctx, { ...recipient, email: to.email }) : testPreferencesUrl(ctx)
    const returnPath =
      returnPathHost && createReturnPath(ctx, { host: returnPathHost, subject: recipient, email: to.email })
    const createHeader = (subject: string): MailHeader => ({
      from,
      ...(returnPath && { returnPath }),
      ...(dkim && { dkim }),
      to: { name: toHeaderText(`${to.firstName} ${to.lastName}`), address: to.email },
      ...(campaign.replyTo && { replyTo: campaign.replyTo }),
      subject: toHeaderText(subject),
      // Deterministic, so that a mail server can detect a duplicate.
      messageId: `<${campaign.id}.${to.id}@${domain}>`,
      headers: {
        'List-Id': `<${list.id}.${domain}>`,
        'List-Unsubscribe': `<${unsubscribe}>`,
        'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
        ...feedbackId(ctx, kind === 'mail' ? 'CAMPAIGN' : 'CAMPAIGN_TEST', campaign.id),
      },
    })
    const templateInput = {
      values: {
        ...sharedValues,
        contact: { ...to.customFieldValues, ...to },
        unsubscribeUrl: unsubscribe,
        locale: chooseMailLanguage({ contact: to.locale, content: list.locale, workspace: workspace.locale }).locale,
        preferencesUrl: preferences,
        ...(campaign.webVersion && { webVersionUrl: webVersionUrl(ctx, campaign.id) }),
      },
      tracking: createTracking(ctx, { recipient, ...tracking }),
    }
    return { templateInput, createHeader }
  }
}

/**
 * Renders a test mail with the values of its contact, or of an example contact. Throws as `requireSender` about the
 * sender, unless it is `MAIL_FROM`: the campaign or the workspace may name another one since the test was requested.
 */
export async function renderTestMail(ctx: Ctx, mail: Mail): Promise<OutgoingMail | undefined> {
  const { campaignId, contactId } = mail.data
  if (!campaignId) return undefined
  const preview = await renderPreviewMail(ctx, campaignId, async () =>
    contactId ? toRecipient(await readContact(ctx, contactId)) : await createExampleRecipient(ctx),
  )
  const { address } = preview.from
  if (address !== ctx.settings.mailFrom) await requireSender(ctx, address)
  return {
    ...preview,
    to: { name: '', address: mail.toAddress },
    subject: `[Test] ${preview.subject}`,
    messageId: `<${mail.id}@${mailDomain(address)}>`,
  }
}

/**
 * Renders the campaign's mail with the values of a contact, or of an example contact. Sends nothing. Throws
 * `validation_error` if a template exceeds its limits.
 */
export async function previewCampaign(ctx: Ctx, campaignId: CampaignId, { contactId }: PreviewInput): Promise<Preview> {
  await readCampaignSummary(ctx, campaignId)
  const { subject, html, text } = await renderPreviewMail(ctx, campaignId, async () =>
    contactId ? toRecipient(await findReferencedContact(ctx, contactId)) : await createExampleRecipient(ctx),
  )
  return { subject, html: html ?? null, text }
}

/**
 * Enqueues one test mail. The campaign can have any status. With `contactId`, the mail shows the values of that
 * contact. Throws `validation_error` if a template exceeds its limits, `quota_exceeded` if the workspace has used up
 * its quotas of emails, `opted_out` if the address is suppressed for all lists or for that of the campaign, `forbidden` if the operator requires an owner with
 * a verified address and there is none, and as `requireSender` about a sender that the campaign or the workspace names.
 */
export async function sendTestMail(ctx: Ctx, id: CampaignId, { email, contactId }: SendTestInput): Promise<SendResult> {
  await previewCampaign(ctx, id, { contactId })
  return enqueueTestMail(ctx, id, { email, contactId })
}

/** The same for a campaign that was previewed before the transaction: a rendering waits for its turn. */
export function enqueueTestMail(ctx: Ctx, id: CampaignId, { email, contactId }: SendTestInput): Promise<SendResult> {
  return inTransaction(ctx, async (ctx) => {
    const { listId, fromEmail } = await readCampaignSummary(ctx, id)
    await requireVerifiedOwner(ctx, email)
    const sender = fromEmail ?? (await readWorkspace(ctx)).fromEmail
    // Without a sender, a test comes from `MAIL_FROM`, also before a domain is verified.
    if (sender !== null) await requireSender(ctx, sender)
    // Before the lock of the address, as in every change of a contact.
    await requireMailQuota(ctx, 'CAMPAIGN_TEST', email)
    await requireNotSuppressed(ctx, email, listId ?? undefined)
    if (listId === null || !(await lockList(ctx, listId))) throw createListDeletedError()
    await enqueueMail(ctx, {
      kind: 'CAMPAIGN_TEST',
      to: email,
      data: { campaignId: id, listId, contactId: contactId ?? null },
    })
    return { queued: 1 }
  })
}

/** Checks that a campaign's subject is not empty for the example contact. Throws `wrong_state`. */
export async function checkRenderedSubject(ctx: Ctx, id: CampaignId): Promise<void> {
  const { sources, prepareMail } = await loadCampaign(ctx, id, 'preview')
  const { templateInput } = prepareMail(await createExampleRecipient(ctx))
  const onlySubject = { subject: sources.subject, html: null, text: null }
  const rendered = await renderFor(ctx, { sources: onlySubject, recipient: templateInput })
  if ('fault' in rendered && rendered.fault.isEmpty) throw createRenderingError(rendered.fault, 'wrong_state')
}

const renderFor = ({ workspaceId, settings }: Ctx, input: Parameters<typeof renderPreview>[1]) =>
  renderPreview(workspaceId, input, settings.renderingDeadlines)

async function renderPreviewMail(
  ctx: Ctx,
  id: CampaignId,
  findRecipient: () => Promise<Recipient>,
): Promise<OutgoingMail> {
  const { sources, prepareMail } = await loadCampaign(ctx, id, 'preview')
  const { templateInput, createHeader } = prepareMail(await findRecipient())
  const rendered = await renderFor(ctx, { sources, recipient: templateInput })
  if ('fault' in rendered) throw createRenderingError(rendered.fault)
  return { ...rendered, ...createHeader(rendered.subject) }
}
