import { listFormerIds } from '../../contacts/contact-aliases.ts'
import { readContact } from '../../contacts/read-contact.ts'
import type { ContactId } from '../../kernel/ids.ts'
import { listReceivedMails, type ReceivedMail } from '../../mail/received-mails.ts'
import type { Ctx } from '../../request/context.ts'
import type { Page } from '../../request/paging.ts'
import { findConsentEmails } from '../../subscriptions/consent-emails.ts'
import type { SectionQuery } from './export-section.ts'

/** Returns a page of the single mails to a contact, also to its former addresses and to merged contacts. */
export async function listMailsOfContact(ctx: Ctx, id: ContactId, query: SectionQuery): Promise<Page<ReceivedMail>> {
  const { email } = await readContact(ctx, id)
  const former = await listFormerIds(ctx, id)
  const recipient = { ids: [id, ...former.data], email, formerEmails: await findConsentEmails(ctx, id) }
  return listReceivedMails(ctx, recipient, query)
}
