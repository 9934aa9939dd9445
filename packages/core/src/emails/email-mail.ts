import { findReferencedContact } from '../campaigns/campaigns.ts'
import { type Recipient, toRecipient } from '../campaigns/recipient.ts'
import { createExampleRecipient } from '../campaigns/templates/example-recipient.ts'
import { renderMails, renderPreview } from '../campaigns/templates/rendering.ts'
import type { EmailValues, Ground, TemplateFault } from '../campaigns/templates/template-sources.ts'
import { AppError } from '../kernel/errors.ts'
import type { TemplateId } from '../kernel/ids.ts'
import { unseal } from '../kernel/crypto.ts'
import { chooseMailLanguage } from '../kernel/values/languages.ts'
import { createReturnPath } from '../mail/bounces/recipient-token.ts'
import { type EncodedMail, feedbackId, type OutgoingMail, toHeaderText } from '../mail/outgoing-mail.ts'
import type { Ctx } from '../request/context.ts'
import { type EmailSender, readEmailSender } from './email-sender.ts'
import type { ClaimedEmail } from './send-email.ts'
import { readTemplate } from './templates/templates.ts'
import type { TemplatePreview, TemplatePreviewInput } from './templates/templates.schema.ts'
import { checkData, type EmailData, toExamples, toValues } from './templates/variables.ts'

/**
 * Renders an email for the contact as it is now, with the values and the version that were accepted. No link is wrapped,
 * nothing is tracked, and there is no List-Unsubscribe. Throws `validation_error` if the template exceeds its limits.
 */
export async function renderEmail(ctx: Ctx, email: ClaimedEmail): Promise<OutgoingMail | EncodedMail> {
  const { id, contact, content, sealedData } = email
  const sender = await readEmailSender(ctx, content)
  const data = JSON.parse(unseal(ctx.settings.keys, sealedData ?? '', id)) as EmailData
  const values = toTemplateValues(sender, {
    to: toRecipient(contact),
    data: toValues(content.variables, data),
    ground: content.ground,
  })
  const { subject, html, text } = content
  const [rendered] = await renderMails(
    ctx.workspaceId,
    { sources: { subject, html, text }, recipients: [{ values, tracking: undefined }] },
    ctx.settings.renderingDeadlines,
  )
  if (!rendered) throw new Error('renderMails returned no mail')
  if ('fault' in rendered) throw createRenderingError(rendered.fault)
  const { from, returnPathHost: host, dkim, domain } = sender
  return {
    ...rendered,
    from,
    to: { name: toHeaderText(`${contact.firstName} ${contact.lastName}`), address: contact.email },
    ...(host && { returnPath: createReturnPath(ctx, { host, subject: { emailId: id }, email: contact.email }) }),
    ...(dkim && { dkim }),
    ...(content.replyTo && { replyTo: content.replyTo }),
    subject: toHeaderText(rendered.subject),
    messageId: `<${id}@${domain}>`,
    headers: {
      'Auto-Submitted': 'auto-generated',
      'Content-Language': values.locale,
      ...feedbackId(ctx, 'EMAIL', email.templateId),
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

function createRenderingError({ field, message }: TemplateFault): AppError {
  const issue = `The template cannot be rendered: ${message}`
  return new AppError('validation_error', issue, { issues: [{ path: field, message: issue }] })
}
