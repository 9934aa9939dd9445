import type { AddressedContact } from '../../consent/consent-records.ts'
import { listFormerIds } from '../../contacts/contact-aliases.ts'
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
import type { SectionQuery } from './export-section.ts'

/** Returns a page of the single mails to a contact, also to its former addresses and to merged contacts. */
export async function listMailsOfContact(ctx: Ctx, id: ContactId, query: SectionQuery): Promise<Page<ReceivedMail>> {
  return listReceivedMails(ctx, await findMailRecipient(ctx, await readContact(ctx, id)), query)
}

/** Deletes the mails of a contact: see `deleteReceivedMails`. Call it before its aliases are deleted. */
export async function deleteMailsOfContact(ctx: Ctx, contact: AddressedContact): Promise<string[]> {
  const recipient = await findMailRecipient(ctx, contact)
  let addresses: string[] = []
  await forgetVisitorMails(ctx, recipient.ids, async () => {
    addresses = await deleteReceivedMails(ctx, recipient)
  })
  return addresses
}

async function findMailRecipient(ctx: Ctx, { id, email }: AddressedContact): Promise<MailRecipient> {
  const { data: mergedIds } = await listFormerIds(ctx, id)
  return { ids: [id, ...mergedIds], email }
}
