/** What is kept about a person, emailed to the address on file at their request. */
import { eq } from 'drizzle-orm'
import { audit } from '../../audit/audit.ts'
import { findCurrentContact } from '../../contacts/contact-aliases.ts'
import { workspaces } from '../../db/schema/index.ts'
import { readWorkspaceSender } from '../../domains/sender-identity.ts'
import { invalidToken } from '../../kernel/errors.ts'
import { isSameAddress } from '../../kernel/values/email-key.ts'
import { chooseMailLanguage } from '../../kernel/values/languages.ts'
import type { Mail } from '../../mail/mails.ts'
import type { OutgoingMail } from '../../mail/outgoing-mail.ts'
import { requestConfirmationMail } from '../../mail/request-confirmation-mail.ts'
import { mailTexts } from '../../mail/texts/mail-texts.ts'
import { renderServiceMail } from '../../mail/service-mail.ts'
import type { BaseCtx, Ctx } from '../../request/context.ts'
import { requireNotSuspended } from '../../request/workspace-state.ts'
import { readSuppressions } from '../../consent/consent-records.ts'
import { canConfirm } from '../../consent/suppression-rows.ts'
import { readContact } from '../../contacts/read-contact.ts'
import { writePersonJson } from '../contacts/export-person.ts'
import { withLockedHolder } from './lock-holder.ts'

/** Mail servers refuse emails of more than 10 to 25 MB, and an attachment grows by a third. */
const defaultMaxLength = 5_000_000

/**
 * Emails a person what is kept about them, within the limits of confirmation mails. Returns whether an email is sent.
 * None is sent to an address that bounced or is blocked, as for every email. Throws `invalid_token` if the contact has
 * another address now: the email goes to the address of the link alone.
 */
export async function requestPersonalData(
  base: BaseCtx,
  { token, locale }: { token: string; locale?: string | undefined },
): Promise<boolean> {
  let isSent = false
  await withLockedHolder(base, token, async (ctx, { contact, isCurrent }) => {
    if (!contact || !isCurrent) throw invalidToken()
    await requireNotSuspended(ctx)
    const { id: contactId, email } = contact
    if (!canConfirm(await readSuppressions(ctx, { email }))) return
    const mail = { kind: 'PERSONAL_DATA', email, contactId, locale } as const
    isSent = (await requestConfirmationMail(ctx, mail)) !== undefined
    // The entry outlives the person: their IP address beside the id of the contact would too.
    const { address: _, ...withoutAddress } = ctx
    if (isSent) await audit(withoutAddress, 'contact.exported', { subjectId: contactId })
  })
  return isSent
}

/** The contact that asked for the email, if its address is still the same. */
export async function findHolder(ctx: Ctx, { data: { contactId }, toAddress }: Mail) {
  const contact = contactId && (await findCurrentContact(ctx, contactId))
  return contact && isSameAddress(contact.email, toAddress) ? contact : undefined
}

/** Renders the email. Returns undefined if the contact no longer has the address that asked for it. */
export async function renderPersonalDataMail(
  ctx: Ctx,
  mail: Mail,
  { maxLength = defaultMaxLength } = {},
): Promise<OutgoingMail | undefined> {
  const { locale: request = null } = mail.data
  const contact = await findHolder(ctx, mail)
  const [workspace] = await ctx.db.select().from(workspaces).where(eq(workspaces.id, ctx.workspaceId))
  if (!contact || !workspace) return undefined
  const person = await readContact(ctx, contact.id)
  const language = chooseMailLanguage({ contact: person.locale, request, workspace: workspace.locale })
  const texts = mailTexts[language.language].personalData
  const sender = await readWorkspaceSender(ctx, workspace)
  const content = await readAll(writePersonJson(ctx, person), maxLength)
  return {
    ...renderServiceMail(ctx, mail, {
      ...sender.header,
      language,
      title: texts.title(sender.name),
      paragraphs: [content === undefined ? texts.tooLarge(sender.name) : texts.attached(sender.name)],
      small: texts.small,
    }),
    ...(content !== undefined && { attachment: { name: 'personal-data.json', type: 'application/json', content } }),
  }
}

/** Returns undefined if the text is too long for an email. */
async function readAll(chunks: AsyncIterable<string>, maxLength: number): Promise<string | undefined> {
  let text = ''
  for await (const chunk of chunks) {
    text += chunk
    if (text.length > maxLength) return undefined
  }
  return text
}
