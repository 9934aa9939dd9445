import { requireEmailable } from '../suppressions/email-block.ts'
import { sourceLength } from '../contacts/contacts.schema.ts'
import { lockContact } from '../contacts/lock-contact.ts'
import { findOrCreateContact, lockMatchingContact } from '../contacts/upsert-contact.ts'
import { emails, templates, templateVersions } from '../db/schema/index.ts'
import { conflict, invalidField } from '../kernel/errors.ts'
import { seal } from '../kernel/crypto.ts'
import { type ContactId, newId, type TemplateId } from '../kernel/ids.ts'
import { timestampNow } from '../kernel/validation.ts'
import { startOfText } from '../kernel/values/text.ts'
import { takeEmailQuota } from '../mail/mail-quotas.ts'
import { requireVerifiedOwner } from '../mail/verified-owner.ts'
import { byId } from '../request/by-id.ts'
import type { Ctx } from '../request/context.ts'
import { inRounds } from '../request/in-rounds.ts'
import { enqueue } from '../work/enqueue.ts'
import { requireTemplateSender } from './email-sender.ts'
import { type EmailRow, toEmail } from './email-record.ts'
import { emailsPerAddress, requireEmailQuotas } from './email-quotas.ts'
import type { EmailInput, EmailRecord } from './emails.schema.ts'
import { isCurrentVersion } from './templates/templates.ts'
import { checkData } from './templates/variables.ts'

/**
 * Accepts an email to one person: it is sent in the background, at most once. Throws `validation_error` for an unknown
 * template or recipient and for values that do not fit the template, `wrong_state` while the template is PAUSED,
 * `opted_out` if the address is suppressed, and `quota_exceeded`.
 */
export function createEmail(ctx: Ctx, input: EmailInput): Promise<EmailRecord> {
  return inRounds(ctx, async (ctx) => {
    const email = await insertEmail(ctx, input)
    await enqueue(ctx, 'EMAIL', email.id)
    return toEmail(email)
  })
}

/** Inserts a PENDING email, whose work the caller enqueues in the same transaction. */
export async function insertEmail(ctx: Ctx, { templateId, to, data, tags }: EmailInput): Promise<EmailRow> {
  const template = await lockForSending(ctx, templateId)
  checkData(template.variables, data)
  if (template.status === 'PAUSED')
    throw conflict('wrong_state', `The template is PAUSED${template.pauseReason ? `: ${template.pauseReason}` : ''}`)
  await requireVerifiedOwner(ctx)
  await requireTemplateSender(ctx, template.fromEmail)
  await requireEmailQuotas(ctx)
  const contact = await findRecipient(ctx, to, template.name)
  await requireEmailable(ctx, contact)
  await takeEmailQuota(ctx, contact.email, await emailsPerAddress.read(ctx))
  const id = newId('mai')
  const email: EmailRow = {
    workspaceId: ctx.workspaceId,
    id,
    templateId,
    templateVersion: template.version,
    ground: template.ground,
    contactId: contact.id,
    status: 'PENDING',
    sealedData: seal(ctx.settings.keys, JSON.stringify(data), id),
    reason: null,
    tags,
    attempts: 0,
    token: null,
    providerMessageHash: null,
    bounceClass: null,
    bounceCode: null,
    bouncedAt: null,
    complainedAt: null,
    createdAt: timestampNow(),
    endedAt: null,
  }
  await ctx.db.insert(emails).values(email)
  return email
}

/** Reads the present version of a template, which a change or deletion waits to replace until the transaction ends. */
async function lockForSending(ctx: Ctx, id: TemplateId) {
  const [template] = await ctx.db
    .select({
      name: templates.name,
      version: templates.version,
      status: templates.status,
      pauseReason: templates.pauseReason,
      variables: templateVersions.variables,
      ground: templateVersions.ground,
      fromEmail: templateVersions.fromEmail,
    })
    .from(templates)
    .innerJoin(templateVersions, isCurrentVersion)
    .where(byId(templates, ctx, id))
    .for('key share', { of: templates })
  if (!template) throw invalidField('templateId', 'Template not found')
  return template
}

/** Finds or creates the contact, and locks it until the transaction ends. */
async function findRecipient(
  ctx: Ctx,
  to: EmailInput['to'],
  template: string,
): Promise<{ id: ContactId; email: string }> {
  if ('email' in to) return findOrCreateContact(ctx, { ...to, source: startOfText(`email:${template}`, sourceLength) })
  if ('contactId' in to) {
    const contact = await lockContact(ctx, to.contactId)
    if (!contact) throw invalidField('to.contactId', 'Contact not found')
    return contact
  }
  const contact = await lockMatchingContact(ctx, to)
  if (!contact) throw invalidField('to.externalId', 'Contact not found')
  return contact
}
