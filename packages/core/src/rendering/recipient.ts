import { textPropertyNames } from '../contacts/contact-properties.ts'
import type { Contact } from '../contacts/contacts.schema.ts'

/** The properties of a contact that a template can use. */
export const recipientProperties = ['id', 'email', ...textPropertyNames, 'customFieldValues', 'tags'] as const
export type Recipient = Pick<Contact, (typeof recipientProperties)[number]>

export function toRecipient(contact: Contact): Recipient {
  return Object.fromEntries(recipientProperties.map((name) => [name, contact[name]])) as Recipient
}
