import { audit } from '../../audit/audit.ts'
import { type Ctx, inTransaction } from '../../request/context.ts'
import { invalidField, notFound } from '../../kernel/errors.ts'
import type { ContactId } from '../../kernel/ids.ts'
import { emit } from '../../events/emit.ts'
import { addExternalIdAlias } from '../../contacts/identity/external-id-aliases.ts'
import { applySuppressions } from '../../subscriptions/apply-suppressions.ts'
import { lockContact, lockContacts } from '../../contacts/lock-contact.ts'
import { readContact } from '../../contacts/read-contact.ts'
import { mergeContact, mergePolicies } from '../../contacts/merge-contact.ts'
import { deleteContactRow, saveContact } from '../../contacts/update-contact.ts'
import { leaveAddress, moveConfirmed } from '../../subscriptions/change-address.ts'
import { type Contact, type MergeInput } from '../../contacts/contacts.schema.ts'
import { recordSubscriptionActivity } from '../../subscriptions/subscribed-status.ts'
import { readSubscriptions } from '../../lists/operator-opt-outs.ts'
import { applyTrackingDenials } from '../../subscriptions/tracking/tracking-consents.ts'
import { contactMerged } from '../../contacts/contact-events.ts'
import { moveContactRecords } from './contact-records.ts'

/**
 * Merges a duplicate into another contact and deletes the duplicate. The duplicate fills empty properties, the external
 * id among them; if both have one, that of the duplicate becomes an alias. Tags and custom field values are combined;
 * deals, tasks, submissions and subscriptions move. The strictest opt-out wins,
 * including stored opt-outs of the remaining address. Subscriptions that only the duplicate had move to the remaining
 * address: see `moveConfirmed`. Unsubscribe links of the duplicate keep working. Of two concurrent merges of the same pair,
 * one succeeds, and the other does not find the duplicate.
 */
export async function mergeContacts(ctx: Ctx, id: ContactId, { contactId }: MergeInput): Promise<Contact> {
  if (id === contactId) throw invalidField('contactId', 'contactId: must be another contact')
  return inTransaction(ctx, async (ctx) => {
    const { survivor, duplicate } = await lockBothContacts(ctx, id, contactId)
    await leaveAddress(ctx, duplicate, survivor)
    const ownLists = (await readSubscriptions(ctx, id)).map(({ listId }) => listId)
    const movedAny = await moveContactRecords(ctx, { from: contactId, to: id })
    await deleteContactRow(ctx, contactId)
    const lastActivityAt = laterOf(survivor.lastActivityAt, duplicate.lastActivityAt)
    const { email: _, ...properties } = duplicate
    if (survivor.externalId !== null && duplicate.externalId !== null)
      await addExternalIdAlias(ctx, duplicate.externalId, id)
    await saveContact(ctx, survivor, { ...mergeContact(survivor, properties, mergePolicies.merge), lastActivityAt })
    if (movedAny) await recordSubscriptionActivity(ctx, [id])
    await applySuppressions(ctx, survivor)
    await applyTrackingDenials(ctx, survivor)
    await moveConfirmed(ctx, { id, from: duplicate.email, to: survivor.email }, ownLists)
    const contact = await readContact(ctx, id)
    await emit(ctx, contactMerged, { ...contact, mergedContactId: contactId })
    await audit(ctx, 'contact.merged', { subjectId: id, mergedContactId: contactId })
    return contact
  })
}

async function lockBothContacts(ctx: Ctx, id: ContactId, contactId: ContactId) {
  await lockContacts(ctx, [id, contactId])
  const [survivor, duplicate] = [await lockContact(ctx, id), await lockContact(ctx, contactId)]
  if (!survivor) throw notFound('Contact')
  if (!duplicate) throw invalidField('contactId', 'Contact not found')
  return { survivor, duplicate }
}

function laterOf(one: Date | null, other: Date | null): Date | null {
  if (!one || !other) return one ?? other
  return one > other ? one : other
}
