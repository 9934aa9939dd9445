import { audit } from '../../audit/audit.ts'
import { type Ctx, inTransaction } from '../../request/context.ts'
import { invalidField, notFound } from '../../kernel/errors.ts'
import type { CompanyId, ContactId } from '../../kernel/ids.ts'
import { emit } from '../../events/emit.ts'
import { addExternalIdAlias } from '../../contacts/identity/external-id-aliases.ts'
import { type AddressedContact, type ConsentRecords, lockConsent, toKey } from '../../consent/consent-records.ts'
import { restoreLostRows } from '../../consent/lost-rows.ts'
import { deriveStatuses } from '../../consent/derive-statuses.ts'
import { mergeSubscriptions } from '../../consent/merge-subscriptions.ts'
import { copyTrackingDenials, storeTrackingDenials } from '../../consent/tracking/tracking-denials.ts'
import { lockCompanies } from '../../companies/linked-companies.ts'
import type { ContactRow } from '../../contacts/contact-record.ts'
import { lockContact, lockContacts } from '../../contacts/lock-contact.ts'
import { forgetVisitorMails } from '../../mail/budget/visitor-mails.ts'
import { readContact } from '../../contacts/read-contact.ts'
import { mergeContact, mergePolicies } from '../../contacts/merge-contact.ts'
import { deleteContactRow, saveContact } from '../../contacts/update-contact.ts'
import { askToConfirm, moveConfirmed, shareSuppressions } from '../../consent/change-address.ts'
import { type Contact, type MergeInput } from '../../contacts/contacts.schema.ts'
import { applyTrackingDenials } from '../../consent/tracking/tracking-consents.ts'
import { contactMerged } from '../../contacts/contact-events.ts'
import { moveContactRecords } from './contact-records.ts'
import { laterOf } from '../../kernel/values/timestamps.ts'

/**
 * Merges a duplicate into another contact and deletes the duplicate. The duplicate fills empty properties, the external
 * id among them; if both have one, that of the duplicate becomes an alias. Tags and custom field values are combined;
 * deals, tasks, submissions and subscriptions move. The strictest opt-out wins,
 * including stored opt-outs of the remaining address. Subscriptions that only the duplicate had move to the remaining
 * address: see `moveConfirmed`. Unsubscribe links of the duplicate keep working. Of two concurrent merges of the same pair,
 * one succeeds, and the other does not find the duplicate. May deadlock, as `deleteContact`.
 */
export async function mergeContacts(ctx: Ctx, id: ContactId, { contactId }: MergeInput): Promise<Contact> {
  if (id === contactId) throw invalidField('contactId', 'contactId: must be another contact')
  return inTransaction(ctx, async (ctx) => {
    const { survivor, duplicate } = await lockBothContacts(ctx, id, contactId)
    const records = await lockConsent(ctx, { contacts: [survivor, duplicate], mode: 'exclusive' })
    const merging = prepareConsent(ctx, records, { survivor, duplicate })
    await storeTrackingDenials(ctx, duplicate)
    await copyTrackingDenials(ctx, { from: duplicate.email, to: survivor.email })
    await forgetVisitorMails(ctx, [contactId])
    // The companies before the notes, as a deletion of one locks them.
    const companies = await lockCompanies(
      ctx,
      [survivor, duplicate].flatMap(({ companyId }) => companyId ?? []),
    )
    const current = withCompanyAmong(companies, survivor)
    const { email: _, ...properties } = withCompanyAmong(companies, duplicate)
    await moveContactRecords(ctx, { from: contactId, to: id })
    await deleteContactRow(ctx, contactId)
    const lastActivityAt = laterOf(survivor.lastActivityAt, duplicate.lastActivityAt)
    if (survivor.externalId !== null && duplicate.externalId !== null)
      await addExternalIdAlias(ctx, duplicate.externalId, id)
    await saveContact(ctx, survivor, { ...mergeContact(current, properties, mergePolicies.merge), lastActivityAt })
    await applyTrackingDenials(ctx, survivor)
    await merging()
    const contact = await readContact(ctx, id)
    await emit(ctx, contactMerged, { ...contact, mergedContactId: contactId })
    await audit(ctx, 'contact.merged', { subjectId: id, mergedContactId: contactId })
    return contact
  })
}

interface Both {
  survivor: AddressedContact
  duplicate: AddressedContact
}

/**
 * What either person said holds for both addresses, and the subscriptions of the duplicate move. Returns a function that
 * saves them, after the duplicate is gone.
 */
function prepareConsent(ctx: Ctx, records: ConsentRecords, { survivor, duplicate }: Both): () => Promise<void> {
  restoreLostRows(ctx, records)
  shareSuppressions(records, duplicate.email, survivor.email)
  const moved = mergeSubscriptions(records, { from: duplicate.id, to: survivor.id })
  const change = { id: survivor.id, from: duplicate.email, to: survivor.email }
  return async () => {
    const asked = await moveConfirmed(ctx, records, { ...change, isMoved: (state) => moved.has(toKey(state)) })
    const { changes } = await deriveStatuses(
      ctx,
      { ...records, contacts: [survivor] },
      // A bounce stays with the address of the duplicate.
      { moved, widens: (state) => moved.has(toKey(state)) && state.status === 'BOUNCED' },
    )
    const pending = changes.filter(({ after }) => asked.has(toKey(after))).map(({ after }) => after)
    await askToConfirm(ctx, survivor.email, pending)
  }
}

async function lockBothContacts(ctx: Ctx, id: ContactId, contactId: ContactId) {
  await lockContacts(ctx, [id, contactId])
  const [survivor, duplicate] = [await lockContact(ctx, id), await lockContact(ctx, contactId)]
  if (!survivor) throw notFound('Contact')
  if (!duplicate) throw invalidField('contactId', 'Contact not found')
  return { survivor, duplicate }
}

/** A contact names a company that was deleted until the worker clears it. */
const withCompanyAmong = (existing: ReadonlyMap<CompanyId, string>, contact: ContactRow): ContactRow =>
  contact.companyId === null || existing.has(contact.companyId) ? contact : { ...contact, companyId: null }
