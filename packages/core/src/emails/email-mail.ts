import { findReferencedContact } from '../contacts/read-contact.ts'
import type { EmailId, TemplateId } from '../kernel/ids.ts'
import { unseal } from '../kernel/crypto.ts'
import { chooseMailLanguage } from '../kernel/values/languages.ts'
import { createReturnPath } from '../mail/bounces/recipient-token.ts'
import { type EncodedMail, feedbackId, type OutgoingMail, toHeaderText } from '../mail/outgoing-mail.ts'
import { createExampleRecipient } from '../rendering/example-recipient.ts'
import { type Recipient, toRecipient } from '../rendering/recipient.ts'
import { createRenderingError, renderMails, renderPreview } from '../rendering/rendering.ts'
import type { EmailValues, Ground } from '../rendering/template-sources.ts'
import type { Ctx } from '../request/context.ts'
import { type EmailSender, readEmailSender } from './email-sender.ts'
import type { ClaimedEmail } from './claim-emails.ts'
import type { TemplateContent } from './templates/template-versions.ts'
import { readTemplate } from './templates/templates.ts'
import type { TemplatePreview, TemplatePreviewInput } from './templates/templates.schema.ts'
import { checkData, type EmailData, toExamples, toValues } from './templates/variables.ts'

type Rendered = OutgoingMail | EncodedMail | Error

/**
 * Renders emails for their contacts as they are now, with the values and the versions that were accepted. No link is
 * wrapped, nothing is tracked, and there is no List-Unsubscribe. Returns a mail or an error for each: that of
 * `requireSender` if the workspace may not send from the sender any more.
 */
export async function renderEmails(ctx: Ctx, emails: readonly ClaimedEmail[]): Promise<Map<EmailId, Rendered>> {
  const rendered = new Map<EmailId, Rendered>()
  const versions = Map.groupBy(emails, ({ templateId, templateVersion }) => `${templateId} ${templateVersion}`)
  // One after the other: a workspace may only have so many that wait for the rendering thread.
  for (const group of versions.values()) {
    const mails = await renderVersion(ctx, group).catch((error: unknown) => group.map(() => error as Error))
    for (const [index, { id }] of group.entries()) rendered.set(id, mails[index] ?? new Error('A mail is missing'))
  }
  return rendered
}

async function renderVersion(ctx: Ctx, emails: readonly ClaimedEmail[]): Promise<Rendered[]> {
  const [first] = emails
  if (!first) return []
  const sender = await readEmailSender(ctx, first.content)
  if (sender.refusal) throw sender.refusal
  const opened = emails.map((email) => openValues(ctx, sender, email))
  const readable = opened.flatMap((values) => (values instanceof Error ? [] : values))
  const mails = (await renderAll(ctx, first.content, readable)).values()
  return emails.map((email, index) => {
    const values = opened[index] ?? new Error('The values are missing')
    if (values instanceof Error) return values
    const mail = mails.next().value ?? new Error('renderMails returned fewer mails')
    if (mail instanceof Error) return mail
    if ('fault' in mail) return createRenderingError(mail.fault)
    return { ...mail, ...toEnvelope(ctx, email, { sender, subject: mail.subject, locale: values.locale }) }
  })
}

/** One value can make a template exceed its limits: then each email is rendered alone, so that the others are sent. */
async function renderAll(ctx: Ctx, { subject, html, text }: TemplateContent, values: readonly EmailValues[]) {
  const render = (some: readonly EmailValues[]) =>
    renderMails(
      ctx.workspaceId,
      { sources: { subject, html, text }, recipients: some.map((values) => ({ values, tracking: undefined })) },
      ctx.settings.renderingDeadlines,
    )
  const mails = await render(values)
  if (values.length < 2 || !mails.some((mail) => 'fault' in mail && mail.fault.isSlow)) return mails
  const alone = []
  for (const one of values) alone.push(...(await render([one])))
  return alone
}

function openValues(ctx: Ctx, sender: EmailSender, email: ClaimedEmail): EmailValues | Error {
  const { id, contact, content, sealedData } = email
  try {
    const data = JSON.parse(unseal(ctx.settings.keys, sealedData ?? '', id)) as EmailData
    const values = toValues(content.variables, data)
    return toTemplateValues(sender, { to: toRecipient(contact), data: values, ground: content.ground })
  } catch (error) {
    return error as Error
  }
}

function toEnvelope(
  ctx: Ctx,
  { workspaceId, id, contact, content, templateId }: ClaimedEmail,
  { sender, subject, locale }: { sender: EmailSender; subject: string; locale: string },
) {
  const { from, returnPathHost: host, dkim, domain } = sender
  return {
    from,
    to: { name: toHeaderText(`${contact.firstName} ${contact.lastName}`), address: contact.email },
    ...(host && { returnPath: createReturnPath(ctx, { host, subject: { emailId: id }, email: contact.email }) }),
    ...(dkim && { dkim }),
    ...(content.replyTo && { replyTo: content.replyTo }),
    subject: toHeaderText(subject),
    messageId: `<${id}.${workspaceId}@${domain}>`,
    headers: {
      'Auto-Submitted': 'auto-generated',
      'Content-Language': locale,
      ...feedbackId(ctx, 'EMAIL', templateId),
    },
  }
}

function toTemplateValues(
  { workspace, from }: EmailSender,
  { to, data, ground }: { to: Recipient; data: EmailData; ground: Ground },
): EmailValues {
  const { name, postalAddress } = workspace
  return {
    contact: { ...to.customFieldValues, ...to },
    workspace: { name, postalAddress },
    locale: chooseMailLanguage({ contact: to.locale, workspace: workspace.locale }).locale,
    data,
    footer: { ground, sender: from.name || name },
  }
}

/**
 * Renders a template for a contact, or an example. Sends nothing. Throws `validation_error` if the values do not fit the
 * template, or the template exceeds its limits.
 */
export async function previewTemplate(
  ctx: Ctx,
  id: TemplateId,
  { contactId, data }: TemplatePreviewInput,
): Promise<TemplatePreview> {
  const template = await readTemplate(ctx, id)
  const { subject, html, text, variables } = template
  if (data) checkData(variables, data)
  const to = contactId ? toRecipient(await findReferencedContact(ctx, contactId)) : await createExampleRecipient(ctx)
  const sender = await readEmailSender(ctx, template)
  const values = toTemplateValues(sender, {
    to,
    data: data ? toValues(variables, data) : toExamples(variables),
    ground: template.ground,
  })
  const rendered = await renderPreview(
    ctx.workspaceId,
    { sources: { subject, html, text }, recipient: { values, tracking: undefined } },
    ctx.settings.renderingDeadlines,
  )
  if ('fault' in rendered) throw createRenderingError(rendered.fault)
  return { subject: rendered.subject, html: rendered.html ?? null, text: rendered.text }
}
