import { listFormerIds } from '../../contacts/contact-aliases.ts'
import type { ContactRow } from '../../contacts/contact-record.ts'
import { readContact } from '../../contacts/read-contact.ts'
import { forgetVisitorMails } from '../../mail/budget/visitor-mails.ts'
import type { ContactId } from '../../kernel/ids.ts'
import {
  deleteReceivedMails,
  listReceivedMails,
  type MailRecipient,
  type ReceivedMail,
} from '../../mail/received-mails.ts'
import type { Ctx } from '../../request/context.ts'
import type { Page } from '../../request/paging.ts'
import { findConsentEmails } from './consent-emails.ts'
import type { SectionQuery } from './export-section.ts'

/** Returns a page of the single mails to a contact, also to its former addresses and to merged contacts. */
export async function listMailsOfContact(ctx: Ctx, id: ContactId, query: SectionQuery): Promise<Page<ReceivedMail>> {
  return listReceivedMails(ctx, await findMailRecipient(ctx, await readContact(ctx, id)), query)
}

/** Deletes the same mails. Call it before the subscriptions and aliases of the contact are deleted. */
export async function deleteMailsOfContact(ctx: Ctx, contact: Pick<ContactRow, 'id' | 'email'>): Promise<void> {
  const recipient = await findMailRecipient(ctx, contact)
  await forgetVisitorMails(ctx, recipient.ids, async () => await deleteReceivedMails(ctx, recipient))
}

async function findMailRecipient(ctx: Ctx, { id, email }: { id: ContactId; email: string }): Promise<MailRecipient> {
  const { data: mergedIds } = await listFormerIds(ctx, id)
  return { ids: [id, ...mergedIds], email, formerEmails: await findConsentEmails(ctx, id) }
}
